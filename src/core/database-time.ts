/** The time of the database at one reading of the monotonic clock of this process. */
let known: { readonly databaseMs: number; readonly atMs: number } | undefined;

/**
 * The time of the database, in milliseconds as `Date.now()`. Use it for each time that is stored, or compared with a
 * stored one: the clock of a process can be wrong, and it can jump. Before the first reading it is the time of this
 * process.
 */
export function databaseNow(): number {
  if (known === undefined) return Date.now();
  return Math.floor(known.databaseMs + performance.now() - known.atMs);
}

/** The time of the database, as a date. */
export function databaseDate(): Date {
  return new Date(databaseNow());
}

/** An answer that took longer says too little. */
const MAX_ANSWER_MS = 500;

/** Reads the time of the database. @param ask returns it in milliseconds */
export async function readDatabaseTime(ask: () => Promise<number>): Promise<void> {
  const askedAt = performance.now();
  const databaseMs = await ask();
  const tookMs = performance.now() - askedAt;
  if (known === undefined || tookMs <= MAX_ANSWER_MS) known = { databaseMs, atMs: askedAt + tookMs / 2 };
}
