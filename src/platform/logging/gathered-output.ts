import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const STANDARD_OUTPUT = 1;
/** Writes when this many characters are gathered, or after this many milliseconds. */
const GATHERED_LENGTH = 64 * 1024;
const WRITE_AFTER_MS = 20;
/** While nothing can be written, lines beyond this many characters are dropped. */
const MAX_GATHERED_LENGTH = 16 * 1024 * 1024;
/** How long the end of the process waits for a reader that is too slow. */
const END_WITHIN_MS = 1_000;

/**
 * Standard output for the log. Writes lines in batches, some milliseconds late, on another thread: a system call per
 * line would dominate the cost of logging, and a slow disk must not delay callers. Gathers lines in an array, because a
 * growing string is copied repeatedly. Writes the remaining lines when the process exits. What cannot be written,
 * because the terminal was closed, the reader has ended or the disk is full, is lost; it neither ends the process nor
 * keeps it from ending.
 */
export function gatheredOutput(): DestinationStream {
  let lines: string[] = [];
  let length = 0;
  let isWriting = false;
  let timer: NodeJS.Timeout | undefined;
  const take = (): Buffer => {
    const taken = Buffer.from(lines.join(''));
    lines = [];
    length = 0;
    return taken;
  };
  const writeGathered = (): void => {
    clearTimeout(timer);
    timer = undefined;
    isWriting = true;
    writeAll(take(), () => {
      isWriting = false;
      writeSoon();
    });
  };
  // A timer that also ran without lines would wake an idle process fifty times a second.
  const writeSoon = (): void => {
    if (isWriting || length === 0) return;
    if (length >= GATHERED_LENGTH) writeGathered();
    else timer ??= setTimeout(writeGathered, WRITE_AFTER_MS).unref();
  };
  process.once('exit', () => writeAllNow(take()));
  return {
    write: (line) => {
      if (length > MAX_GATHERED_LENGTH) return;
      lines.push(line);
      length += line.length;
      writeSoon();
    },
  };
}

/** @param onEnd called when all is written or lost */
function writeAll(text: Buffer, onEnd: () => void): void {
  write(STANDARD_OUTPUT, text, (error, written) => {
    if (isBusy(error)) setTimeout(() => writeAll(text, onEnd), WRITE_AFTER_MS);
    else if (error !== null || written === text.length) onEnd();
    else writeAll(text.subarray(written), onEnd);
  });
}

function writeAllNow(text: Buffer): void {
  const deadline = performance.now() + END_WITHIN_MS;
  for (let rest = text; rest.length > 0 && performance.now() < deadline;) {
    try {
      rest = rest.subarray(writeSync(STANDARD_OUTPUT, rest));
    } catch (error) {
      if (!isBusy(error as NodeJS.ErrnoException)) return;
    }
  }
}

/** True while the pipe is full. */
function isBusy(error: NodeJS.ErrnoException | null): boolean {
  return error?.code === 'EAGAIN';
}
