import { useMemo } from 'react';
import { useFilters } from '../../api/filters.js';
import { allOf, type Condition } from '../../api/queries.js';
import { LENGTH_OPTIONS, lengthMs, timeAgo } from '../../charts/lengths.js';
import { FilterSelect } from '../../records/filter-fields.js';
import { TextField } from '../../ui/field.js';

const MINUTE_MS = 60_000;
const RANGES = [...LENGTH_OPTIONS, { value: 'custom', label: 'From … to …' }];

/** Chooses a time range, in the address: `?within=24h`, or `?within=custom&from=…&to=…`. */
export function TimeRangeFields() {
  const [{ within = '', from = '', to = '' }, filter] = useFilters();
  return (
    <>
      <FilterSelect name="within" label="Time" options={RANGES} resets={['from', 'to']} />
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
    const ms = lengthMs(within);
    if (ms !== undefined) return { field: ['at'], operator: 'gte', value: timeAgo(ms) };
    return allOf(
      from === '' ? undefined : { field: ['at'], operator: 'gte', value: new Date(from).toISOString() },
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
