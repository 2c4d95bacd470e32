import { type DestinationStream, pino } from 'pino';

/** Flushes when this many characters are buffered, or after this many milliseconds. */
const GATHERED_LENGTH = 64 * 1024;
const FLUSH_EVERY_MS = 20;
/** While nothing can be written, lines beyond this many characters are dropped. */
const MAX_UNWRITTEN = 16 * 1024 * 1024;

/**
 * Standard output for the log. Writes lines in batches, some milliseconds late, on another thread: a system call per line
 * would dominate the cost of logging, and a slow disk must not delay callers. Buffers lines in an array, because a growing
 * string is copied repeatedly. Writes the remaining lines when the process exits.
 */
export function gatheredOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxWrite: 2 * GATHERED_LENGTH, maxLength: MAX_UNWRITTEN });
  // The terminal was closed, or the disk is full: the service continues, and writes again when it can.
  output.on('error', () => {
    // Would repeat a write that fails until it succeeds, and keep the process from ending.
    output.flushSync = () => undefined;
  });
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
