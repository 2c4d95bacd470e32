import { useMemo } from 'react';
import { useFilters } from '../../api/filters.js';
import { allOf, type Condition } from '../../api/queries.js';
import { SelectField, TextField } from '../../ui/field.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const RANGES = [
  { value: '', label: 'Any time' },
  { value: '15m', label: 'Last 15 minutes', ms: 15 * MINUTE_MS },
  { value: '1h', label: 'Last hour', ms: HOUR_MS },
  { value: '6h', label: 'Last 6 hours', ms: 6 * HOUR_MS },
  { value: '24h', label: 'Last 24 hours', ms: 24 * HOUR_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * 24 * HOUR_MS },
  { value: 'custom', label: 'From … to …' },
] as const;

/** Chooses a time range, in the address: `?within=24h`, or `?within=custom&from=…&to=…`. */
export function TimeRangeFields() {
  const [{ within = '', from = '', to = '' }, filter] = useFilters();
  return (
    <>
      <SelectField
        label="Time"
        value={within}
        options={RANGES}
        onChange={(value) => filter({ within: value, from: undefined, to: undefined })}
      />
      {within === 'custom' && (
        <>
          <TextField
            label="From"
            type="datetime-local"
            value={localTime(from)}
            onChange={(value) => filter({ from: value })}
          />
          <TextField
            label="To"
            type="datetime-local"
            value={localTime(to)}
            onChange={(value) => filter({ to: value })}
          />
        </>
      )}
    </>
  );
}

/** The time range in the address as a condition on the field `at`. */
export function useTimeCondition(): Condition | undefined {
  const [{ within = '', from = '', to = '' }] = useFilters();
  return useMemo(() => {
    const range = RANGES.find(({ value }) => value === within);
    if (range && 'ms' in range) {
      // To the minute, so that the same request is not a new one each time.
      return after(new Date(Math.floor((Date.now() - range.ms) / MINUTE_MS) * MINUTE_MS));
    }
    return allOf(
      from === '' ? undefined : after(new Date(from)),
      to === '' ? undefined : { field: ['at'], operator: 'lt', value: new Date(to).toISOString() },
    );
  }, [within, from, to]);
}

/** A point in time as the field holds it. A chart that was zoomed leaves one with a time zone. */
function localTime(text: string): string {
  if (!text.endsWith('Z') || Number.isNaN(Date.parse(text))) return text;
  const time = new Date(text);
  return new Date(time.getTime() - time.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

function after(time: Date): Condition {
  return { field: ['at'], operator: 'gte', value: time.toISOString() };
}
