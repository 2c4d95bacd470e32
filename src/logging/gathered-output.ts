import { type DestinationStream, pino } from 'pino';

/** As much is written by one system call, or what there is after so many milliseconds. */
const GATHERED_LENGTH = 64 * 1024;
const FLUSH_EVERY_MS = 20;

/**
 * Standard output for the log. Lines are written together, some milliseconds late, and by another thread: a system call for
 * each would cost more than all the rest of it, and a slow disk must not hold up callers. They are kept as they are until
 * then, because a text that grows line by line is copied again and again. What is left when the process ends is written then.
 */
export function gatheredOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxWrite: 2 * GATHERED_LENGTH });
  let lines: string[] = [];
  let length = 0;
  const flush = (): void => {
    if (length === 0) return;
    output.write(lines.join(''));
    lines = [];
    length = 0;
  };
  setInterval(flush, FLUSH_EVERY_MS).unref();
  process.once('exit', () => {
    flush();
    output.flushSync();
  });
  return {
    write: (line) => {
      lines.push(line);
      length += line.length;
      if (length >= GATHERED_LENGTH) flush();
    },
  };
}
