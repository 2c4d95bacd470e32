import { isNativeError } from 'node:util/types';

/** The embedded PostgreSQL is unavailable. The message addresses the operator and contains no secret. */
export class EmbeddedPostgresError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'EmbeddedPostgresError';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist or cannot be created',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'part of the path is not a folder',
  EEXIST: 'a file has the same path',
  ELOOP: 'the symbolic links form a loop',
  EMFILE: 'too many files are open',
};

/** Converts any failure on a data folder to the one error type that callers see. */
export function toEmbeddedPostgresError(error: unknown, dataDir: string): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) return error;
  const path = isNativeError(error) && 'path' in error && typeof error.path === 'string' ? error.path : dataDir;
  const where = path === dataDir ? '' : ` (${path})`;
  const reason = REASONS[errorCode(error) ?? ''] ?? errorMessage(error);
  return new EmbeddedPostgresError(`The data folder ${dataDir} cannot be used: ${reason}${where}.`, { cause: error });
}

/** The `code` of a system error (`ENOENT`) or of a PostgreSQL error (SQLSTATE, `57P03`). */
export function errorCode(error: unknown): string | undefined {
  return isNativeError(error) && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function errorMessage(error: unknown): string {
  return isNativeError(error) ? error.message : String(error);
}
