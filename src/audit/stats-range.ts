import { describeValue, readFieldValue } from '../common/paging/field-value.js';
import { listFault } from '../common/paging/list-fault.js';
import { AUDIT_LIST } from './audit-list.js';
import type { MonitoringStatsInput } from './monitoring.dto.js';

const DAY_S = 86_400;
const WIDTHS_S = [60, 300, 900, 3600, 4 * 3600, DAY_S];
/** Beside these a range that does not begin on a bucket's edge has one more. */
const MAX_BUCKETS = 60;

/** Of what time statistics are made, and in which steps. `to` is not included. */
export interface StatsRange {
  readonly from: Date;
  readonly to: Date;
  readonly bucketSeconds: number;
}

/**
 * The range that is asked for; the last 24 hours unless told.
 * @throws DomainError `invalid_request`
 */
export function readStatsRange(input: Pick<MonitoringStatsInput, 'from' | 'to'>, now: Date): StatsRange {
  const to = readTime('to', input.to) ?? now;
  const from = readTime('from', input.from) ?? new Date(to.getTime() - DAY_S * 1000);
  if (from >= to) throw listFault('from', 'empty_range', 'from must be before to.');
  return { from, to, bucketSeconds: bucketWidth((to.getTime() - from.getTime()) / 1000) };
}

/** The narrowest usual width that cuts the range into at most 60; for more than 60 days, whole days. */
function bucketWidth(rangeSeconds: number): number {
  const usual = WIDTHS_S.find((width) => rangeSeconds / width <= MAX_BUCKETS);
  return usual ?? Math.ceil(rangeSeconds / MAX_BUCKETS / DAY_S) * DAY_S;
}

/** The same forms of a time as the LIST tools accept. */
function readTime(path: string, value: string | undefined): Date | undefined {
  if (value === undefined) return undefined;
  const field = AUDIT_LIST.fields.at;
  const time = readFieldValue(field, value);
  if (typeof time !== 'string') throw listFault(path, 'invalid_value', `The value must be ${describeValue(field)}.`);
  return new Date(time);
}
