import type { ToolOutput } from '../../../packages/client/src/api.js';
import { Chart } from './chart.js';
import { formatStep, pointsOf, type Series, stepsOf } from './series.js';

const SERIES: readonly Series[] = [
  { id: 'successes', label: 'Successful', color: 'var(--chart-1)' },
  { id: 'errors', label: 'Errors', color: 'var(--chart-2)' },
  { id: 'denied', label: 'Denied', color: 'var(--chart-3)' },
];
const IDS = SERIES.map(({ id }) => id);

/** Calls of tools over time, by their outcome. */
export function CallsOverTime({ stats }: { readonly stats: ToolOutput<'MONITORING_STATS'> }) {
  const { from, to, bucket_seconds: bucket, tools, truncated } = stats;
  const counts = tools.flatMap(({ over_time: overTime }) => overTime);
  const points = pointsOf(
    stepsOf(from, to, bucket),
    counts,
    ({ successes, errors, denied }) => ({ successes, errors, denied }),
    IDS,
  );
  const range = (Date.parse(to) - Date.parse(from)) / 1000;
  return (
    <>
      <Chart
        label="Tool calls over time"
        kind="bars"
        points={points}
        series={SERIES}
        formatAt={formatStep(bucket, range)}
      />
      {truncated && (
        <p className="text-[0.8125rem] text-muted-foreground">
          The chart shows the {tools.length} tools with the most calls. The figures above count all.
        </p>
      )}
    </>
  );
}
