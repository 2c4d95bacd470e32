import { ConfigError } from '../config/env-reader.js';
import { EmbeddedPostgresError } from '../embedded-postgres/embedded-postgres-error.js';

/** Why the start failed: one sentence where the reason is the operator's to mend, the whole error where it is ours. */
export function sentenceFor(error: unknown): string {
  if (error instanceof ConfigError || error instanceof EmbeddedPostgresError) return error.message;
  if (typeof error === 'object' && error !== null && 'code' in error) {
    const { code } = error;
    if (code === 'EADDRINUSE') return 'The port is in use: set PORT to another one.';
    if (code === 'EACCES') return 'The port or the data folder may not be used by this user: set PORT or DATA_DIR.';
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      return 'The database cannot be reached: check DATABASE_URL.';
    }
    if (code === '28P01' || code === '28000') return 'The database refused the user or password in DATABASE_URL.';
    if (code === '3D000') return 'The database named in DATABASE_URL does not exist.';
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
