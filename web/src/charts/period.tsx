import { useMemo } from 'react';
import { useFilters } from '../api/filters.js';
import { SelectField } from '../ui/field.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const PERIODS = [
  { value: '24h', label: 'Last 24 hours', ms: 24 * HOUR_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * 24 * HOUR_MS },
] as const;

export type Period = (typeof PERIODS)[number];

/** The period in the address (`?period=7d`), 24 hours without one. `from` is its beginning, to the minute. */
export function usePeriod(): { readonly period: Period; readonly from: string } {
  const [{ period: chosen }] = useFilters();
  const period = PERIODS.find(({ value }) => value === chosen) ?? PERIODS[0];
  const from = useMemo(
    () => new Date(Math.floor((Date.now() - period.ms) / MINUTE_MS) * MINUTE_MS).toISOString(),
    [period],
  );
  return { period, from };
}

/** Chooses the period, in the address. */
export function PeriodField() {
  const { period } = usePeriod();
  const [, filter] = useFilters();
  return (
    <SelectField
      label="Period"
      isLabelHidden
      value={period.value}
      options={PERIODS}
      onChange={(value) => filter({ period: value === '24h' ? undefined : value })}
    />
  );
}
