import { ConfigError } from '../core/config/env-reader.js';
import { DatabaseVersionError } from '../platform/database/migrations/database-version.js';
import { EmbeddedPostgresError } from '../platform/embedded-postgres/embedded-postgres-error.js';
import { ProcessStartError } from './processes/messages.js';

/** Why the start failed: a message if the operator can fix the cause, otherwise the error with its stack. */
export function sentenceFor(error: unknown): string {
  const isOurs = [ConfigError, EmbeddedPostgresError, DatabaseVersionError, ProcessStartError].some(
    (type) => error instanceof type,
  );
  if (isOurs) return (error as Error).message;
  if (typeof error === 'object' && error !== null && 'code' in error) {
    const { code } = error;
    if (code === 'EADDRINUSE') {
      const port = 'port' in error ? ` ${String(error.port)}` : '';
      return `The port${port} is in use. Set PORT to another one.`;
    }
    if (code === 'EACCES') return 'The user cannot access the port or the data folder. Set PORT or DATA_DIR.';
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      return 'Cannot connect to the database. Check DATABASE_URL.';
    }
    if (code === '28P01' || code === '28000') return 'The database rejected the user or password in DATABASE_URL.';
    if (code === '3D000') return 'The database named in DATABASE_URL does not exist.';
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
