import { type DestinationStream, type Logger, pino } from 'pino';
import { withoutCredentials } from '../common/credential-forms.js';
import { isoTime } from '../common/iso-time.js';
import { LogContext } from '../common/log-context.js';
import { gatheredOutput } from './gathered-output.js';

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

/**
 * The process's structured log: JSON lines with RFC 3339 times, on standard output unless told otherwise. No line holds a
 * credential of ours, whatever was logged.
 */
export function createLogger(level: string, destination: DestinationStream = gatheredOutput()): Logger {
  return pino(
    {
      level,
      base: { service: 'signalbox' },
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      // Pino adds the fields of the line to this object: they win.
      mixin: () => ({ ...LogContext.fields }),
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: '***' },
    },
    { write: (line) => destination.write(withoutCredentials(line)) },
  );
}
