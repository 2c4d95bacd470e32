import { describeValue, readFieldValue } from './field-value.js';
import { listFault } from './list-input.js';
import type { ListField } from './list-spec.js';

/** A range of time; `to` is not included. */
export interface TimeRange {
  readonly from: Date;
  readonly to: Date;
}

/** A range as a caller gives it, in the forms of a time that the LIST tools accept. */
interface TimeRangeInput {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const TIME: ListField = { column: '', type: 'date' };

/**
 * The range that is asked for; without `to` it ends now, without `from` it lasts `defaultMs`.
 * @throws DomainError `invalid_request`
 */
export function readTimeRange(input: TimeRangeInput, now: Date, defaultMs: number): TimeRange {
  const to = readTime('to', input.to) ?? now;
  const from = readTime('from', input.from) ?? new Date(to.getTime() - defaultMs);
  if (from >= to) throw listFault('from', 'empty_range', 'from must be before to.');
  return { from, to };
}

function readTime(path: string, value: string | undefined): Date | undefined {
  if (value === undefined) return undefined;
  const time = readFieldValue(TIME, value);
  if (typeof time !== 'string') throw listFault(path, 'invalid_value', `The value must be ${describeValue(TIME)}.`);
  return new Date(time);
}

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
