import { useMemo } from 'react';
import type { Filters } from '../api/filters.js';
import type { Condition } from '../api/queries.js';
import { isTime } from '../charts/chosen-range.js';
import { lengthMs, timeAgo } from '../charts/lengths.js';

/** How much a histogram shows of a list without a time: the service counts each run of it. */
const DEFAULT_MS = 7 * 86_400_000;

/** The time that a list and its histogram are about. */
export interface FoundRange {
  /** Of the list: undefined for any time. */
  readonly condition: Condition | undefined;
  /** Of the histogram. */
  readonly from: string;
  /** Undefined for now. */
  readonly to: string | undefined;
  /** True if the address has no time, so that the histogram shows less than the list. */
  readonly isAny: boolean;
}

/**
 * The time in the address: `since=24h`, or `from` and `to`, which a brush sets. A range that ends now is counted from
 * the moment at which it was chosen, to the minute.
 */
export function useFoundRange({ since, from, to }: Filters): FoundRange {
  return useMemo(() => {
    if (isTime(from) && isTime(to)) {
      const within: Condition = {
        operator: 'and',
        conditions: [
          { field: ['created_at'], operator: 'gte', value: from },
          { field: ['created_at'], operator: 'lt', value: to },
        ],
      };
      return { condition: within, from, to, isAny: false };
    }
    const ms = lengthMs(since);
    const start = timeAgo(ms ?? DEFAULT_MS);
    const condition: Condition | undefined =
      ms === undefined ? undefined : { field: ['created_at'], operator: 'gte', value: start };
    return { condition, from: start, to: undefined, isAny: ms === undefined };
  }, [since, from, to]);
}
