let last = Number.NaN;
let lastAsText = '';

/**
 * A time as ISO 8601 text in UTC, as `Date.toISOString` has it. Formatting costs ten times as much as reading the clock, and
 * a busy service asks for the same millisecond many times.
 * @param time milliseconds since the epoch
 */
export function isoTime(time: number): string {
  if (time !== last) {
    lastAsText = new Date(time).toISOString();
    last = time;
  }
  return lastAsText;
}
