/** A step back by more than this is followed: somebody has set the clock of the database. */
const MAX_STEP_MS = 500;

/** What to add to the monotonic clock of this process for the time of the database, in milliseconds. */
let offset: number | undefined;
let latest = 0;

/**
 * The time of the database, in milliseconds as `Date.now()`. Use it for each time that is stored, or compared with a
 * stored one: the clock of a process can be wrong, and it can jump. Does not decrease when a reading corrects it.
 * Before the first reading it is the time of this process.
 */
export function databaseNow(): number {
  if (offset === undefined) return Date.now();
  const now = Math.floor(offset + performance.now());
  if (now > latest || latest - now > MAX_STEP_MS) latest = now;
  return latest;
}

/** The time of the database, as a date. */
export function databaseDate(): Date {
  return new Date(databaseNow());
}

/**
 * Reads the time of the database, which lies between the question and the answer: a slow answer corrects only what it
 * proves wrong.
 * @param ask returns it in milliseconds
 */
export async function readDatabaseTime(ask: () => Promise<number>): Promise<void> {
  const askedAt = performance.now();
  const databaseMs = await ask();
  const [least, most] = [databaseMs - performance.now(), databaseMs - askedAt];
  offset = offset === undefined ? (least + most) / 2 : Math.min(Math.max(offset, least), most);
}
