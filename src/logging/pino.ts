import { type DestinationStream, type Logger, pino } from 'pino';
import { isoTime } from '../common/iso-time.js';

/** Names under which a secret could be logged by mistake; the values are replaced wherever the log is written. */
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

/** Lines are written together, some milliseconds late: a system call for each would cost more than all the rest of it. */
const GATHERED_BYTES = 8 * 1024;
const FLUSH_EVERY_MS = 20;

/** The process's structured log: JSON lines with RFC 3339 times, on standard output unless told otherwise. */
export function createLogger(level: string, destination: DestinationStream = standardOutput()): Logger {
  return pino(
    {
      level,
      base: { service: 'signalbox' },
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: '***' },
    },
    destination,
  );
}

/** Written by another thread: a slow disk must not hold up callers. What is left when the process ends is written then. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({ dest: 1, minLength: GATHERED_BYTES, sync: false });
  setInterval(() => destination.flush(), FLUSH_EVERY_MS).unref();
  return destination;
}
