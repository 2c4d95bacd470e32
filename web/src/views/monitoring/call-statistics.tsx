import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { type Filters, useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { CallsOverTime } from '../../charts/calls-over-time.js';
import { DurationsOverTime } from '../../charts/durations-over-time.js';
import { rangeOf, usePeriod } from '../../charts/period.js';
import { type RankedRow, Ranking, restOf } from '../../charts/ranking.js';
import { FilterPicker, FilterSelect } from '../../records/filter-fields.js';
import { useOrganization } from '../../session/organization.js';
import type { Column } from '../../ui/data-table.js';
import { SelectField } from '../../ui/field.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatDuration, formatNumber } from '../../ui/format.js';
import { CALL_KINDS } from './call-conditions.js';
import { Slowest } from './slowest.js';
import { UseBy } from './use-by.js';

type Stats = ToolOutput<'MONITORING_STATS'>;
type Counts = Stats['total'];

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

const SUMS = ['calls', 'successes', 'errors', 'denied'] as const;
const UNKNOWN = { latency_ms: null };

function groupingOf(value: string): Grouping {
  return GROUPINGS.find((grouping) => grouping.value === value) ?? GROUPINGS[0];
}

/** Charts of calls: over time, by tool, and by connection, agent, key or person. */
export function CallStatistics() {
  const [{ connection, tool, calls, by = '' }] = useFilters();
  const grouping = groupingOf(by);
  const { may } = useOrganization();
  const shown = usePeriod();
  const {
    data: stats,
    error,
    refetch,
  } = useTool('MONITORING_STATS', {
    ...rangeOf(shown),
    ...(connection && { connection_id: connection }),
    ...(tool && { tool_name: tool }),
    include_management: calls === 'all',
    group_by: grouping.value,
    over_time: true,
  });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <FilterPicker
          name="connection"
          label="Connection"
          kind="connection"
          emptyLabel="All connections"
          resets={['tool']}
        />
        <ToolField stats={stats} />
        <FilterSelect name="calls" label="Calls of" options={COUNTED} />
        <FilterSelect name="by" label="Group by" options={GROUPINGS} fallback="connection" />
      </div>
      {error && !stats && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !stats && <Loading label="Loading the statistics" />}
      {stats && <Charts stats={stats} grouping={grouping} />}
      {may('USAGE_STATS') && <UseBy />}
    </div>
  );
}

/** Chooses one tool of those that were called. */
function ToolField({ stats }: { readonly stats: Stats | undefined }) {
  const [{ connection, tool }, filter] = useFilters();
  const tools = tool ? [] : (stats?.tools ?? []);
  return (
    <SelectField
      label="Tool"
      value={tool ? 'chosen' : ''}
      options={[
        { value: '', label: 'All tools' },
        ...(tool ? [{ value: 'chosen', label: tool }] : []),
        ...tools.map(({ tool_name: name, connection_title: title }, index) => ({
          value: String(index),
          label: connection || title === null ? name : `${name} (${title})`,
        })),
      ]}
      onChange={(value) => {
        const chosen = tools[Number(value)];
        if (value === '' || chosen === undefined) filter({ tool: undefined });
        else filter({ tool: chosen.tool_name, connection: chosen.connection_id ?? undefined });
      }}
    />
  );
}

function Charts({ stats, grouping }: { readonly stats: Stats; readonly grouping: Grouping }) {
  const [{ period, from }, filter] = useFilters();
  if (stats.total.calls === 0) return <EmptyState title="No tool was called in this period." />;
  const drill = 'text-left break-all text-primary hover:underline';
  // The list of calls shows the same time as the figures that lead to it.
  const listed: Filters = from ? { within: 'custom' } : { within: period ?? '24h' };
  const groups = stats.groups.map(({ group, name, ...counts }) => {
    if (group === null) return { id: '', name: grouping.none, counts };
    const filters = grouping.filter(group);
    const isList = 'tab' in filters;
    return {
      id: group,
      name: (
        <button type="button" className={drill} onClick={() => filter({ ...filters, ...(isList && listed) })}>
          {name ?? group}
        </button>
      ),
      counts,
    };
  });
  const tools = stats.tools.map(({ connection_id: connection, tool_name: name, ...counts }) => ({
    id: `${connection ?? ''} ${name}`,
    name: (
      <button
        type="button"
        className={drill}
        onClick={() => filter({ ...listed, tab: undefined, tool: name, connection: connection ?? undefined })}
      >
        {name}
      </button>
    ),
    counts,
  }));
  return (
    <>
      <div className="grid min-w-0 grid-cols-1 gap-4 *:last:odd:lg:col-span-2 *:last:odd:2xl:col-span-1 lg:grid-cols-2 2xl:grid-cols-3">
        <Section title="Calls over time">
          <CallsOverTime stats={stats} />
        </Section>
        {stats.total.latency_ms !== null && (
          <>
            <Section title="Duration over time">
              <DurationsOverTime
                label="Duration over time"
                range={stats}
                steps={stats.over_time.map(({ at, latency_ms: percentiles }) => ({ at, percentiles }))}
              />
            </Section>
            <Slowest stats={stats} grouping={grouping} />
          </>
        )}
      </div>
      <div className="grid min-w-0 grid-cols-1 gap-4 items-start 2xl:grid-cols-2">
        <Section title={`By ${grouping.value}`}>
          <Ranking
            label={`Calls by ${grouping.value}`}
            rows={groups}
            rest={restRow('All others', stats.total, groups)}
            total={stats.total}
            nameHeader={grouping.label}
            columns={COLUMNS}
            {...CALLS}
          />
        </Section>
        <Section title="By tool">
          <Ranking
            label="Calls by tool"
            rows={tools}
            rest={restRow('Other tools', stats.total, tools)}
            total={stats.total}
            nameHeader="Tool"
            columns={COLUMNS}
            {...CALLS}
          />
        </Section>
      </div>
    </>
  );
}

const CALLS = { valueHeader: 'Calls', value: ({ calls }: Counts) => calls, formatValue: formatNumber } as const;

const COLUMNS: readonly Column<Counts>[] = [
  { header: 'Errors', align: 'right', cell: ({ errors }) => formatNumber(errors) },
  { header: 'Denied', align: 'right', isSecondary: true, cell: ({ denied }) => formatNumber(denied) },
  { header: 'p50', align: 'right', isSecondary: true, cell: (counts) => duration(counts.latency_ms?.p50) },
  { header: 'p95', align: 'right', cell: (counts) => duration(counts.latency_ms?.p95) },
  { header: 'p99', align: 'right', isSecondary: true, cell: (counts) => duration(counts.latency_ms?.p99) },
];

/** What is not listed; undefined if all calls are. */
function restRow(name: string, total: Counts, rows: readonly RankedRow<Counts>[]): RankedRow<Counts> | undefined {
  const counts = restOf<Counts>(total, rows, SUMS, UNKNOWN);
  return counts.calls === 0 ? undefined : { id: ' rest', name, counts };
}

function duration(value: number | undefined) {
  return <span className="whitespace-nowrap">{value === undefined ? '–' : formatDuration(value)}</span>;
}
