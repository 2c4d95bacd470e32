import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { Chart } from '../../charts/chart.js';
import { stepsOf } from '../../charts/series.js';
import { FilterSelect } from '../../records/filter-fields.js';
import { Section } from '../../ui/page.js';
import { formatDuration } from '../../ui/format.js';

type Stats = ToolOutput<'MONITORING_STATS'>;
type Counts = Stats['over_time'][number];

/** What calls are counted by; `none` names the calls without one. */
interface Grouping {
  readonly value: string;
  readonly none: string;
}

/** What is compared: a tool, or a group of calls. */
interface Compared {
  /** Without dots, which the chart would take for a path. */
  readonly id: string;
  readonly label: string;
  readonly whole: Stats['total'];
  readonly steps: readonly Counts[];
}

const COLORS = ['var(--chart-1)', 'var(--chart-2)', 'var(--chart-3)', 'var(--chart-4)', 'var(--chart-5)'];
const PERCENTILES = [
  { value: 'p50', label: 'p50' },
  { value: 'p95', label: 'p95' },
  { value: 'p99', label: 'p99' },
] as const;

/** A percentile of the slowest tools, or connections, agents, keys or people, over time. */
export function Slowest({ stats, grouping }: { readonly stats: Stats; readonly grouping: Grouping }) {
  const [{ slowest = '', percentile: chosen }] = useFilters();
  const percentile = PERCENTILES.find(({ value }) => value === chosen)?.value ?? 'p95';
  const compared = slowest === 'group' ? groupsOf(stats, grouping) : toolsOf(stats);
  const listed = compared
    .filter(({ whole }) => whole.latency_ms !== null)
    .toSorted((a, b) => (b.whole.latency_ms?.[percentile] ?? 0) - (a.whole.latency_ms?.[percentile] ?? 0))
    .slice(0, COLORS.length);
  const points = stepsOf(stats.from, stats.to, stats.bucket_seconds).map((at) => ({
    at,
    values: Object.fromEntries(
      listed.map(({ id, steps }) => [id, steps.find((step) => step.at === at)?.latency_ms?.[percentile] ?? null]),
    ),
  }));
  return (
    <Section
      title="The slowest"
      actions={
        <>
          <FilterSelect
            name="slowest"
            label="Compare"
            isLabelHidden
            options={[
              { value: '', label: 'Tools' },
              { value: 'group', label: `By ${grouping.value}` },
            ]}
          />
          <FilterSelect name="percentile" label="Percentile" isLabelHidden options={PERCENTILES} fallback="p95" />
        </>
      }
    >
      <Chart
        label={`Duration of the slowest, ${percentile}`}
        unit={`Duration, ${percentile}`}
        kind="lines"
        points={points}
        series={listed.map(({ id, label }, index) => ({ id, label, color: COLORS[index] ?? '' }))}
        range={stats}
        formatValue={formatDuration}
      />
    </Section>
  );
}

function toolsOf({ tools }: Stats): Compared[] {
  const names = Map.groupBy(tools, ({ tool_name: name }) => name);
  return tools.map((tool) => {
    const { connection_id: connection, connection_title: title, tool_name: name } = tool;
    const isShared = (names.get(name)?.length ?? 0) > 1;
    return {
      id: `${connection ?? 'self'} ${name}`.replaceAll('.', '_'),
      label: isShared && title !== null ? `${name} (${title})` : name,
      whole: tool,
      steps: tool.over_time,
    };
  });
}

function groupsOf({ groups }: Stats, { none }: Grouping): Compared[] {
  return groups.map((group) => ({
    id: group.group ?? 'none',
    label: group.group === null ? none : (group.name ?? group.group),
    whole: group,
    steps: group.over_time,
  }));
}
