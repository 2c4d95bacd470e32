import { type DestinationStream, type Logger, pino } from 'pino';
import { withoutCredentials } from '../../core/credential-forms.js';
import { isoTime } from '../../core/iso-time.js';
import { LogContext, NO_FIELDS } from '../../core/log-context.js';
import { write, writeSync } from 'node:fs';

const STANDARD_OUTPUT = 1;
/** Writes when this many characters are gathered, or after this many milliseconds. */
const GATHERED_LENGTH = 64 * 1024;
const WRITE_EVERY_MS = 20;
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
function gatheredOutput(): DestinationStream {
  let lines: string[] = [];
  let length = 0;
  let isWriting = false;
  const take = (): Buffer => {
    const taken = Buffer.from(lines.join(''));
    lines = [];
    length = 0;
    return taken;
  };
  const writeGathered = (): void => {
    if (isWriting || length === 0) return;
    isWriting = true;
    writeAll(take(), () => {
      isWriting = false;
      if (length >= GATHERED_LENGTH) writeGathered();
    });
  };
  setInterval(writeGathered, WRITE_EVERY_MS).unref();
  process.once('exit', () => writeAllNow(take()));
  return {
    write: (line) => {
      if (length > MAX_GATHERED_LENGTH) return;
      lines.push(line);
      length += line.length;
      if (length >= GATHERED_LENGTH) writeGathered();
    },
  };
}

/** @param onEnd called when all is written or lost */
function writeAll(text: Buffer, onEnd: () => void): void {
  write(STANDARD_OUTPUT, text, (error, written) => {
    if (isBusy(error)) setTimeout(() => writeAll(text, onEnd), WRITE_EVERY_MS);
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

/** Names of fields that could contain a secret by mistake. Their values are redacted in every log line. */
const REDACTED = [
  'authorization',
  'api_key',
  'apiKey',
  'key',
  'token',
  'connection_token',
  'password',
  'secret',
  'cookie',
];

/**
 * The structured log of the process: JSON lines with RFC 3339 times, on standard output by default. Removes credentials
 * of the service from every line.
 */
export function createLogger(level: string, destination: DestinationStream = gatheredOutput()): Logger {
  return pino(
    {
      level,
      base: { service: 'signalbox' },
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      mixin: () => LogContext.fields,
      // The line of a request has the fields itself, so most lines need no copy.
      mixinMergeStrategy: (line, context) => (context === NO_FIELDS ? line : { ...context, ...line }),
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: '***' },
    },
    { write: (line) => destination.write(withoutCredentials(line)) },
  );
}
