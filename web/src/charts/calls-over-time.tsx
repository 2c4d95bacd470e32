import type { ToolOutput } from '../../../packages/client/src/api.js';
import { Chart } from './chart.js';
import { pointsOf, type Series, stepsOf } from './series.js';

const SERIES: readonly Series[] = [
  { id: 'successes', label: 'Successful', color: 'var(--chart-1)' },
  { id: 'errors', label: 'Errors', color: 'var(--chart-2)' },
  { id: 'denied', label: 'Denied', color: 'var(--chart-3)' },
];
const IDS = SERIES.map(({ id }) => id);

/** Calls of tools over time, by their outcome. */
export function CallsOverTime({
  stats,
  height,
}: {
  readonly stats: ToolOutput<'MONITORING_STATS'>;
  /** See `Chart`. */
  readonly height?: string;
}) {
  const points = pointsOf(
    stepsOf(stats.from, stats.to, stats.bucket_seconds),
    stats.over_time,
    ({ successes, errors, denied }) => ({ successes, errors, denied }),
    IDS,
  );
  return (
    <Chart
      label="Tool calls over time"
      unit="Calls"
      kind="bars"
      points={points}
      series={SERIES}
      range={stats}
      {...(height && { height })}
    />
  );
}
