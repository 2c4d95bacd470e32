import type { Option } from '../ui/field.js';

const HOUR_MS = 3_600_000;

const RANGES: readonly (Option & { readonly ms: number })[] = [
  { value: '1h', label: 'Last hour', ms: HOUR_MS },
  { value: '24h', label: 'Last 24 hours', ms: 24 * HOUR_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * 24 * HOUR_MS },
];

/**
 * The choices of a filter by time. An address holds the value, so that a link always means the time before its opening.
 */
export const TIME_OPTIONS: readonly Option[] = [{ value: '', label: 'Any time' }, ...RANGES];

/** How long the range is; undefined for any time. */
export function rangeMs(range: string): number | undefined {
  return RANGES.find(({ value }) => value === range)?.ms;
}
