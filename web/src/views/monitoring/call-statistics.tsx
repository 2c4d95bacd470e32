import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { CallsOverTime } from '../../charts/calls-over-time.js';
import { Chart } from '../../charts/chart.js';
import { usePeriod } from '../../charts/period.js';
import { Ranking } from '../../charts/ranking.js';
import { formatStep, stepsOf } from '../../charts/series.js';
import { PickerField } from '../../pick/picker-field.js';
import { useOrganization } from '../../session/organization.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatDuration, formatNumber } from '../../ui/time.js';
import { UseByKey } from './use-by-key.js';

type Stats = ToolOutput<'MONITORING_STATS'>;
type ToolStats = Stats['tools'][number];

/** Charts of calls: over time, by connection, by tool, by key. */
export function CallStatistics() {
  const [{ connection = '', tool }, filter] = useFilters();
  const { may } = useOrganization();
  const { from } = usePeriod();
  const {
    data: stats,
    error,
    refetch,
  } = useTool('MONITORING_STATS', {
    from,
    ...(connection && { connection_id: connection }),
    ...(tool && { tool_name: tool }),
  });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <PickerField
        label="Connection"
        kind="connection"
        value={connection}
        emptyLabel="All connections"
        onChange={(id) => filter({ connection: id, tool: undefined })}
        className="max-w-sm"
      />
      {error && !stats && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !stats && <Loading label="Loading the statistics" />}
      {stats && <Charts stats={stats} />}
      {may('USAGE_STATS') && <UseByKey />}
    </div>
  );
}

function Charts({ stats }: { readonly stats: Stats }) {
  const [, filter] = useFilters();
  if (stats.total.calls === 0) return <EmptyState title="No tool was called in this period." />;
  const connections = byConnection(stats.tools);
  const drill = 'text-left break-all text-primary hover:underline';
  return (
    <>
      <div className="grid min-w-0 grid-cols-1 gap-4 lg:grid-cols-2">
        <Section title="Calls over time">
          <CallsOverTime stats={stats} />
        </Section>
        <Section title="Duration of the slowest tools (p95)">
          <Durations stats={stats} />
        </Section>
      </div>
      <div className="grid min-w-0 grid-cols-1 gap-4 items-start lg:grid-cols-[2fr_3fr]">
        <Section title="By connection">
          <Ranking
            label="Calls by connection"
            rows={connections}
            keyOf={({ id }) => id ?? ''}
            nameHeader="Connection"
            name={({ id, title }) =>
              id === null ? (
                title
              ) : (
                <button type="button" className={drill} onClick={() => filter({ connection: id })}>
                  {title}
                </button>
              )
            }
            valueHeader="Calls"
            value={({ calls }) => calls}
            formatValue={formatNumber}
            columns={[{ header: 'Errors', align: 'right', cell: ({ errors }) => formatNumber(errors) }]}
          />
        </Section>
        <Section title="By tool">
          <Ranking
            label="Calls by tool"
            rows={stats.tools}
            keyOf={keyOf}
            nameHeader="Tool"
            name={(tool) => (
              <button
                type="button"
                className={drill}
                onClick={() =>
                  filter({ tab: undefined, tool: tool.tool_name, connection: tool.connection_id ?? undefined })
                }
              >
                {tool.tool_name}
              </button>
            )}
            valueHeader="Calls"
            value={({ calls }) => calls}
            formatValue={formatNumber}
            columns={[
              { header: 'Errors', align: 'right', cell: ({ errors }) => formatNumber(errors) },
              { header: 'Denied', align: 'right', isSecondary: true, cell: ({ denied }) => formatNumber(denied) },
              { header: 'p50', align: 'right', isSecondary: true, cell: (tool) => duration(tool.latency_ms?.p50) },
              { header: 'p95', align: 'right', cell: (tool) => duration(tool.latency_ms?.p95) },
              { header: 'p99', align: 'right', isSecondary: true, cell: (tool) => duration(tool.latency_ms?.p99) },
            ]}
          />
        </Section>
      </div>
    </>
  );
}

const COLORS = ['var(--chart-1)', 'var(--chart-2)', 'var(--chart-3)', 'var(--chart-4)', 'var(--chart-5)'];

function Durations({ stats }: { readonly stats: Stats }) {
  const slowest = [...stats.tools]
    .filter(({ latency_ms: latency }) => latency !== null)
    .sort((a, b) => (b.latency_ms?.p95 ?? 0) - (a.latency_ms?.p95 ?? 0))
    .slice(0, COLORS.length);
  const { from, to, bucket_seconds: bucket } = stats;
  const points = stepsOf(from, to, bucket).map((at) => ({
    at,
    values: Object.fromEntries(
      slowest.map((tool) => [keyOf(tool), tool.over_time.find((step) => step.at === at)?.latency_ms?.p95 ?? null]),
    ),
  }));
  return (
    <Chart
      label="Duration of the slowest tools, p95"
      kind="lines"
      points={points}
      series={slowest.map((tool, index) => ({ id: keyOf(tool), label: tool.tool_name, color: COLORS[index] ?? '' }))}
      formatAt={formatStep(bucket, (Date.parse(to) - Date.parse(from)) / 1000)}
      formatValue={formatDuration}
    />
  );
}

function byConnection(tools: readonly ToolStats[]) {
  const groups = Map.groupBy(tools, ({ connection_id: id }) => id);
  return [...groups]
    .map(([id, members]) => ({
      id,
      title: id === null ? 'Management of this service' : (members[0]?.connection_title ?? id),
      calls: members.reduce((sum, { calls }) => sum + calls, 0),
      errors: members.reduce((sum, { errors }) => sum + errors, 0),
    }))
    .sort((a, b) => b.calls - a.calls);
}

/** Without dots, which the chart would take for a path. */
function keyOf({ connection_id: connection, tool_name: tool }: ToolStats): string {
  return `${connection ?? 'self'} ${tool}`.replaceAll('.', '_');
}

function duration(value: number | undefined) {
  return <span className="whitespace-nowrap">{value === undefined ? '–' : formatDuration(value)}</span>;
}
