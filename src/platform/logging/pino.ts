import { type DestinationStream, type Logger, pino } from 'pino';
import { withoutCredentials } from '../../core/credential-forms.js';
import { isoTime } from '../../core/iso-time.js';
import { LogContext, NO_FIELDS } from '../../core/log-context.js';
import { gatheredOutput } from './gathered-output.js';

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
