import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { type Filters, useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { CallsOverTime } from '../../charts/calls-over-time.js';
import { Chart } from '../../charts/chart.js';
import { usePeriod } from '../../charts/period.js';
import { Ranking } from '../../charts/ranking.js';
import { formatStep, stepsOf } from '../../charts/series.js';
import { PickerField } from '../../pick/picker-field.js';
import { useOrganization } from '../../session/organization.js';
import { SelectField } from '../../ui/field.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatDuration, formatNumber } from '../../ui/time.js';
import { CALL_KINDS } from './call-conditions.js';
import { UseBy } from './use-by.js';

type Stats = ToolOutput<'MONITORING_STATS'>;
type ToolStats = Stats['tools'][number];

const COUNTED = CALL_KINDS.filter(({ value }) => value !== 'management');

/** What calls are counted by; `none` names the calls without one, and `filter` shows the calls of one. */
const GROUPINGS = [
  {
    value: 'connection',
    label: 'Connection',
    none: 'Management of this service',
    filter: (id: string): Filters => ({ connection: id }),
  },
  {
    value: 'agent',
    label: 'Agent',
    none: 'Without an agent',
    filter: (id: string): Filters => ({ tab: undefined, agent: id }),
  },
  { value: 'key', label: 'Key', none: 'Without a key', filter: (id: string): Filters => ({ tab: undefined, key: id }) },
  {
    value: 'person',
    label: 'Person',
    none: 'Nobody',
    filter: (id: string): Filters => ({ tab: undefined, person: id }),
  },
] as const;
type Grouping = (typeof GROUPINGS)[number];

function groupingOf(value: string): Grouping {
  return GROUPINGS.find((grouping) => grouping.value === value) ?? GROUPINGS[0];
}

/** Charts of calls: over time, by tool, and by connection, agent, key or person. */
export function CallStatistics() {
  const [{ connection = '', tool, calls = '', by = '' }, filter] = useFilters();
  const grouping = groupingOf(by);
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
    include_management: calls === 'all',
    group_by: grouping.value,
  });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
        <PickerField
          label="Connection"
          kind="connection"
          value={connection}
          emptyLabel="All connections"
          onChange={(id) => filter({ connection: id, tool: undefined })}
        />
        <SelectField label="Calls of" value={calls} options={COUNTED} onChange={(value) => filter({ calls: value })} />
        <SelectField
          label="Group by"
          value={grouping.value}
          options={GROUPINGS}
          onChange={(value) => filter({ by: value === 'connection' ? undefined : value })}
        />
      </div>
      {error && !stats && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !stats && <Loading label="Loading the statistics" />}
      {stats && <Charts stats={stats} grouping={grouping} />}
      {may('USAGE_STATS') && <UseBy />}
    </div>
  );
}

function Charts({ stats, grouping }: { readonly stats: Stats; readonly grouping: Grouping }) {
  const [, filter] = useFilters();
  if (stats.total.calls === 0) return <EmptyState title="No tool was called in this period." />;
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
        <Section title={`By ${grouping.value}`}>
          <Ranking
            label={`Calls by ${grouping.value}`}
            rows={stats.groups}
            keyOf={({ group }) => group ?? ''}
            nameHeader={grouping.label}
            name={({ group, name }) =>
              group === null ? (
                grouping.none
              ) : (
                <button type="button" className={drill} onClick={() => filter(grouping.filter(group))}>
                  {name ?? group}
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

/** Without dots, which the chart would take for a path. */
function keyOf({ connection_id: connection, tool_name: tool }: ToolStats): string {
  return `${connection ?? 'self'} ${tool}`.replaceAll('.', '_');
}

function duration(value: number | undefined) {
  return <span className="whitespace-nowrap">{value === undefined ? '–' : formatDuration(value)}</span>;
}
