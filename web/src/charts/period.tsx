import { useEffect, useMemo, useState } from 'react';
import { useFilters } from '../api/filters.js';
import { SelectField } from '../ui/field.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const PERIODS = [
  { value: '15m', label: 'Last 15 minutes', ms: 15 * MINUTE_MS },
  { value: '1h', label: 'Last hour', ms: HOUR_MS },
  { value: '6h', label: 'Last 6 hours', ms: 6 * HOUR_MS },
  { value: '24h', label: 'Last 24 hours', ms: 24 * HOUR_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * 24 * HOUR_MS },
] as const;

const [, , , DAY] = PERIODS;

/** The beginning of a period moves on in so many steps: what costs much is not read again each minute. */
const STEPS = 96;

export type Period = (typeof PERIODS)[number];

/**
 * The period in the address (`?period=7d`), 24 hours without one. `from` is its beginning, which moves on with the time;
 * the period before it, which is as long, begins at `before`.
 */
export function usePeriod(): { readonly period: Period; readonly from: string; readonly before: string } {
  const [{ period: chosen }] = useFilters();
  const period = PERIODS.find(({ value }) => value === chosen) ?? DAY;
  const now = useCurrentMinute();
  const stepMs = Math.max(MINUTE_MS, period.ms / STEPS);
  const start = Math.floor((now - period.ms) / stepMs) * stepMs;
  return useMemo(
    () => ({ period, from: new Date(start).toISOString(), before: new Date(start - period.ms).toISOString() }),
    [period, start],
  );
}

/** The time, read again each minute. */
function useCurrentMinute(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), MINUTE_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** How a figure differs from that of the period before: `+12 % to the period before`. */
export function changeInWords(now: number, before: number | undefined): string {
  if (before === undefined || (before === 0 && now === 0)) return '';
  if (before === 0) return 'none in the period before';
  const percent = Math.round((100 * (now - before)) / before);
  return `${percent > 0 ? '+' : ''}${percent} % to the period before`;
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
