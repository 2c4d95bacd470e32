import { formatDuration } from '../ui/format.js';
import { Chart } from './chart.js';
import { type Series, type StepRange, stepsOf } from './series.js';

interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

const SERIES: readonly Series[] = [
  { id: 'p50', label: 'p50', color: 'var(--chart-4)' },
  { id: 'p95', label: 'p95', color: 'var(--chart-1)' },
  { id: 'p99', label: 'p99', color: 'var(--chart-5)' },
];

/** How long half, 95 and 99 of a hundred took at most, over time. */
export function DurationsOverTime({
  label,
  range,
  steps,
}: {
  readonly label: string;
  readonly range: StepRange;
  readonly steps: readonly { readonly at: string; readonly percentiles: Percentiles | null }[];
}) {
  const found = new Map(steps.map(({ at, percentiles }) => [at, percentiles]));
  const points = stepsOf(range.from, range.to, range.bucket_seconds).map((at) => {
    const { p50 = null, p95 = null, p99 = null } = found.get(at) ?? {};
    return { at, values: { p50, p95, p99 } };
  });
  return (
    <Chart
      label={label}
      unit="Duration"
      kind="lines"
      points={points}
      series={SERIES}
      range={range}
      formatValue={formatDuration}
    />
  );
}
