import { readTimeRange, type TimeRange } from '../common/paging/time-range.js';
import type { MonitoringStatsInput } from './monitoring.dto.js';

const DAY_S = 86_400;
const WIDTHS_S = [60, 300, 900, 3600, 4 * 3600, DAY_S];
/** Beside these a range that does not begin on a bucket's edge has one more. */
const MAX_BUCKETS = 60;

/** Of what time statistics are made, and in which steps. */
export interface StatsRange extends TimeRange {
  readonly bucketSeconds: number;
}

/**
 * The range that is asked for; the last 24 hours unless told.
 * @throws DomainError `invalid_request`
 */
export function readStatsRange(input: Pick<MonitoringStatsInput, 'from' | 'to'>, now: Date): StatsRange {
  const { from, to } = readTimeRange(input, now, DAY_S * 1000);
  return { from, to, bucketSeconds: bucketWidth((to.getTime() - from.getTime()) / 1000) };
}

/** The narrowest usual width that cuts the range into at most 60; for more than 60 days, whole days. */
function bucketWidth(rangeSeconds: number): number {
  const usual = WIDTHS_S.find((width) => rangeSeconds / width <= MAX_BUCKETS);
  return usual ?? Math.ceil(rangeSeconds / MAX_BUCKETS / DAY_S) * DAY_S;
}
