/** The schema uses `UNIQUE NULLS NOT DISTINCT`. */
const MIN_MAJOR_VERSION = 15;

/** The PostgreSQL server is too old, or the schema is one that no migration starts from. */
export class DatabaseVersionError extends Error {
  override readonly name = 'DatabaseVersionError';
}

/** @param version as `server_version_num` has it: 150004 is 15.4 @throws DatabaseVersionError */
export function requireVersion(version: number): void {
  const major = Math.floor(version / 10_000);
  if (major >= MIN_MAJOR_VERSION) return;
  throw new DatabaseVersionError(
    `The database of DATABASE_URL is PostgreSQL ${major}; Signalbox requires PostgreSQL ${MIN_MAJOR_VERSION} or later.`,
  );
}
