import { type DestinationStream, type Logger, pino } from 'pino';

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

/** The process's structured log: JSON lines with RFC 3339 times, on standard output unless told otherwise. */
export function createLogger(level: string, destination: DestinationStream = pino.destination(1)): Logger {
  return pino(
    {
      level,
      base: { service: 'signalbox' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: '***' },
    },
    destination,
  );
}
