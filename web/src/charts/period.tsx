import { ZoomOut } from 'lucide-react';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useFilters } from '../api/filters.js';
import { Button } from '../ui/button.js';
import { SelectField } from '../ui/field.js';
import { isTime, rangeInWords } from './chosen-range.js';
import { LENGTHS } from './lengths.js';

const MINUTE_MS = 60_000;
const [, , , DAY] = LENGTHS;

/** The beginning of a period moves on in so many steps: what costs much is not read again each minute. */
const STEPS = 96;

export type Period = (typeof LENGTHS)[number];

/** The time that a view is about. */
interface ShownPeriod {
  readonly period: Period;
  readonly from: string;
  /** Undefined for now. */
  readonly to: string | undefined;
  /** Where the period before it, which is as long, begins. */
  readonly before: string;
}

/**
 * The period in the address: `?period=7d`, whose beginning moves on with the time, or the part of it that a chart was
 * zoomed to (`&from=…&to=…`).
 * @param usual without one in the address
 */
export function usePeriod(usual: Period['value'] = DAY.value): ShownPeriod {
  const [{ period: chosen = usual, from, to }] = useFilters();
  const period = LENGTHS.find(({ value }) => value === chosen) ?? DAY;
  const now = useCurrentMinute();
  const stepMs = Math.max(MINUTE_MS, period.ms / STEPS);
  const start = Math.floor((now - period.ms) / stepMs) * stepMs;
  return useMemo(() => {
    if (isTime(from) && isTime(to) && Date.parse(from) < Date.parse(to)) {
      const ms = Date.parse(to) - Date.parse(from);
      return { period, ...isoRange(from, to), before: new Date(Date.parse(from) - ms).toISOString() };
    }
    const before = new Date(start - period.ms).toISOString();
    return { period, from: new Date(start).toISOString(), to: undefined, before };
  }, [period, start, from, to]);
}

function isoRange(from: string, to: string): { from: string; to: string } {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The range as tools take it. */
export function rangeOf({ from, to }: Pick<ShownPeriod, 'from' | 'to'>): { from: string; to?: string } {
  return { from, ...(to !== undefined && { to }) };
}

/** Shows a part of the period, and leads back to the whole. */
export function useZoom(): { readonly zoomTo: (from: string, to: string) => void; readonly zoomOut: () => void } {
  const [, filter] = useFilters();
  const zoomTo = useCallback((from: string, to: string) => filter({ from, to }), [filter]);
  const zoomOut = useCallback(() => filter({ from: undefined, to: undefined }), [filter]);
  return { zoomTo, zoomOut };
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
  const { period, from, to } = usePeriod();
  const [, filter] = useFilters();
  const { zoomOut } = useZoom();
  return (
    <>
      {to !== undefined && (
        <Button variant="secondary" onClick={zoomOut}>
          <ZoomOut aria-hidden className="size-4" />
          Zoom out
          <span className="text-muted-foreground">{rangeInWords(from, to)}</span>
        </Button>
      )}
      <SelectField
        label="Period"
        isLabelHidden
        value={period.value}
        options={LENGTHS}
        onChange={(value) =>
          filter({ period: value === DAY.value ? undefined : value, from: undefined, to: undefined })
        }
      />
    </>
  );
}
