import { readTimeRange, type TimeRange, type TimeRangeInput } from './time-range.js';

const DAY_S = 86_400;
const WIDTHS_S = [60, 300, 900, 3600, 4 * 3600, DAY_S];
/** A range that does not start at a bucket boundary has one more. */
const MAX_BUCKETS = 60;

/** The time range and bucket width of statistics. `to` is exclusive. */
export interface StatsRange extends TimeRange {
  readonly bucketSeconds: number;
}

/**
 * The requested range. Default: the last 24 hours.
 * @throws DomainError `invalid_request`
 */
export function readStatsRange(input: TimeRangeInput, now: Date): StatsRange {
  const { from, to } = readTimeRange(input, now, DAY_S * 1000);
  return { from, to, bucketSeconds: bucketWidth((to.getTime() - from.getTime()) / 1000) };
}

/** The smallest usual width that gives at most 60 buckets; whole days for more than 60 days. */
function bucketWidth(rangeSeconds: number): number {
  const usual = WIDTHS_S.find((width) => rangeSeconds / width <= MAX_BUCKETS);
  return usual ?? Math.ceil(rangeSeconds / MAX_BUCKETS / DAY_S) * DAY_S;
}
