const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The lengths of time before now that a view can show, by their value in the address. */
export const LENGTHS = [
  { value: '15m', label: 'Last 15 minutes', ms: 15 * MINUTE_MS },
  { value: '1h', label: 'Last hour', ms: HOUR_MS },
  { value: '6h', label: 'Last 6 hours', ms: 6 * HOUR_MS },
  { value: '24h', label: 'Last 24 hours', ms: DAY_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * DAY_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * DAY_MS },
] as const;

/** The same, or any time. An address holds the value, so that a link always means the time before its opening. */
export const LENGTH_OPTIONS = [{ value: '', label: 'Any time' }, ...LENGTHS] as const;

/** How long it is; undefined for any time. */
export function lengthMs(length: string | undefined): number | undefined {
  return LENGTHS.find(({ value }) => value === length)?.ms;
}

/** The time so long ago, to the minute, so that a request stays the same while a view is looked at. */
export function timeAgo(ms: number): string {
  return new Date(Math.floor((Date.now() - ms) / MINUTE_MS) * MINUTE_MS).toISOString();
}

/** A week ago, to the hour: for figures that cost much to count. */
export function weekAgo(): string {
  return new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 7 * DAY_MS).toISOString();
}
