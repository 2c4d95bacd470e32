import { useExactTimes } from './exact-times.js';

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const ABSOLUTE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
/** For hovering: the time zone in which the moment is told stands behind it. */
const WITH_ZONE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/**
 * A moment, as "3 minutes ago" with the exact time and its zone as its title. Older ones, and all of them if somebody
 * wants that, are shown exactly. @param value ISO 8601, or null for never
 */
export function Time({
  value,
  ifNull = 'never',
}: {
  readonly value: string | null | undefined;
  readonly ifNull?: string;
}) {
  const [isExact] = useExactTimes();
  if (!value) return <>{ifNull}</>;
  const date = new Date(value);
  return (
    <time dateTime={value} title={WITH_ZONE.format(date)} className="whitespace-nowrap">
      {isExact ? ABSOLUTE.format(date) : relative(date)}
    </time>
  );
}

function relative(date: Date): string {
  const ms = date.getTime() - Date.now();
  if (Math.abs(ms) > 7 * 86_400_000) return ABSOLUTE.format(date);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(ms) >= length) ?? (['second', 1000] as const);
  return RELATIVE.format(Math.round(ms / size), unit);
}
