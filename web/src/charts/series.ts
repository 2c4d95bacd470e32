/** One kind of value in a chart. */
export interface Series {
  readonly id: string;
  readonly label: string;
  /** Such as `var(--chart-1)`. */
  readonly color: string;
}

/** What a chart is about, as statistics say it. */
export interface StepRange {
  readonly from: string;
  readonly to: string;
  readonly bucket_seconds: number;
}

/** The values at a moment, by the ids of the series; null for none. */
export interface Point {
  /** ISO 8601, or a day. */
  readonly at: string;
  readonly values: Readonly<Record<string, number | null>>;
}

interface Counts {
  readonly at: string;
}

/** The steps of a time range, from the first to the last, also those for which the service has nothing to say. */
export function stepsOf(from: string, to: string, bucketSeconds: number): readonly string[] {
  const width = bucketSeconds * 1000;
  const steps: string[] = [];
  const end = Date.parse(to);
  for (let at = Math.floor(Date.parse(from) / width) * width; at < end; at += width) {
    steps.push(new Date(at).toISOString());
  }
  return steps;
}

/** One point for each step: the sums of all counts at that step. */
export function pointsOf<Count extends Counts>(
  steps: readonly string[],
  counts: readonly Count[],
  valuesOf: (count: Count) => Readonly<Record<string, number>>,
  ids: readonly string[],
): readonly Point[] {
  const byStep = Map.groupBy(counts, ({ at }) => at);
  return steps.map((at) => {
    const found = (byStep.get(at) ?? []).map(valuesOf);
    const sum = (id: string): number => found.reduce((total, values) => total + (values[id] ?? 0), 0);
    return { at, values: Object.fromEntries(ids.map((id) => [id, sum(id)])) };
  });
}

const TIME = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
/** Steps of whole days begin at midnight UTC. */
const DAY = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const DAY_AND_TIME = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const DAY_S = 86_400;

/** Writes a step in the form that its width needs: a time, a day, or both. */
export function formatStep(bucketSeconds: number, rangeSeconds: number): (at: string) => string {
  if (bucketSeconds >= DAY_S) return (at) => DAY.format(new Date(at));
  const format = rangeSeconds > DAY_S ? DAY_AND_TIME : TIME;
  return (at) => format.format(new Date(at));
}

const WIDTHS = [
  [DAY_S, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const;

/** The width of a step: `minute`, `15 minutes`, `day`. */
export function inWords(bucketSeconds: number): string {
  const [width, word] = WIDTHS.find(([seconds]) => bucketSeconds >= seconds) ?? WIDTHS[2];
  const count = bucketSeconds / width;
  return count === 1 ? word : `${count} ${word}s`;
}

/** The time zone in which steps are written. */
export function zoneOf(bucketSeconds: number): string {
  return bucketSeconds >= DAY_S ? 'UTC' : TIME.resolvedOptions().timeZone;
}
