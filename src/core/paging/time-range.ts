import { describeValue, readFieldValue } from './field-value.js';
import { listFault } from './list-fault.js';
import type { ListField } from './list-spec.js';

/** A range of time; `to` is not included. */
export interface TimeRange {
  readonly from: Date;
  readonly to: Date;
}

/** A range as a caller gives it, in the forms of a time that the LIST tools accept. */
export interface TimeRangeInput {
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
