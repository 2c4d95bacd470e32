import { Link } from '@tanstack/react-router';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';
import { Chart } from '../../charts/chart.js';
import { DurationsOverTime } from '../../charts/durations-over-time.js';
import { rangeOf, usePeriod } from '../../charts/period.js';
import { Ranking, restOf } from '../../charts/ranking.js';
import { pointsOf, type Series, stepsOf } from '../../charts/series.js';
import { StatTile } from '../../charts/stat-tile.js';
import { useOrganization } from '../../session/organization.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatCost, formatDuration, formatExactCost, formatNumber } from '../../ui/format.js';

const SHOWN = 10;
const RUNS: readonly Series[] = [
  { id: 'completed', label: 'Completed', color: 'var(--chart-1)' },
  { id: 'failed', label: 'Failed', color: 'var(--chart-2)' },
  { id: 'cancelled', label: 'Cancelled', color: 'var(--chart-3)' },
  { id: 'open', label: 'Not finished', color: 'var(--chart-4)' },
];
const TOKENS: readonly Series[] = [
  { id: 'input', label: 'Input tokens', color: 'var(--chart-5)' },
  { id: 'output', label: 'Output tokens', color: 'var(--chart-4)' },
];

/** The sums among the counts. */
const SUMS = ['runs', 'failed', 'input_tokens', 'output_tokens', 'cost_usd', 'unpriced_runs'] as const;

type RunCounts = ToolOutput<'RUN_STATS'>['total'];
type Costs = Pick<RunCounts, 'cost_usd' | 'unpriced_runs'>;

interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** Runs of agents and the tokens that they used. */
export function RunFigures() {
  const { may } = useOrganization();
  if (!may('RUN_STATS')) return null;
  return <Figures />;
}

function Figures() {
  const { slug } = useOrganization();
  const shown = usePeriod();
  const { data: stats, error, refetch } = useTool('RUN_STATS', rangeOf(shown), { refreshMs: 30_000 });
  if (error && !stats) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!stats) return <Loading label="Loading the statistics of runs" />;

  const { total, over_time: overTime, agents, from: start, to, bucket_seconds: bucket } = stats;
  const steps = stepsOf(start, to, bucket);
  const tokens = (counts: Tokens): number => counts.input_tokens + counts.output_tokens;
  const cost = (counts: Costs): number => counts.cost_usd ?? 0;
  const byCost = cost(total) > 0;
  const value = byCost ? cost : tokens;
  const top = agents.toSorted((a, b) => value(b) - value(a)).slice(0, SHOWN);
  const ranked = top.map(({ agent_id: id, agent_title: title, ...counts }) => ({
    id,
    name: (
      <Link to="/$org/agents/$agentId" params={{ org: slug, agentId: id }} className="text-primary hover:underline">
        {title ?? 'A deleted agent'}
      </Link>
    ),
    counts,
  }));
  const rest =
    agents.length > top.length || stats.truncated
      ? { id: ' rest', name: 'Other agents', counts: restOf<RunCounts>(total, ranked, SUMS, { duration_ms: null }) }
      : undefined;
  return (
    <>
      <dl className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
        <StatTile
          label="Runs"
          value={formatNumber(total.runs)}
          note={
            `${formatNumber(total.queued + total.running + total.waiting)} not finished, ` +
            `${formatNumber(total.cancelled)} cancelled`
          }
        />
        <StatTile label="Completed runs" value={formatNumber(total.completed)} />
        <StatTile label="Failed" value={formatNumber(total.failed)} isBad={total.failed > 0} />
        <StatTile label="p95 of runs" value={p95Of(total)} note="95 of 100 were faster" />
        <StatTile
          label="Tokens"
          value={formatNumber(tokens(total))}
          note={`${formatNumber(total.input_tokens)} in, ${formatNumber(total.output_tokens)} out`}
        />
        <StatTile
          label="Cost"
          value={total.cost_usd === null ? '–' : formatCost(total.cost_usd)}
          note={<Unpriced {...total} />}
        />
      </dl>
      <div className="grid min-w-0 grid-cols-1 gap-4 *:last:odd:lg:col-span-2 *:last:odd:2xl:col-span-1 lg:grid-cols-2 2xl:grid-cols-3">
        <Section title="Runs over time">
          {total.runs === 0 ? (
            <EmptyState title="No agent ran in this period.">
              <Link to="/$org/playground" params={{ org: slug }} className="text-primary underline">
                Talk to an agent
              </Link>
            </EmptyState>
          ) : (
            <Chart
              label="Runs over time"
              unit="Runs"
              kind="bars"
              series={RUNS}
              range={stats}
              points={pointsOf(
                steps,
                overTime,
                ({ completed, failed, cancelled, queued, running, waiting }) => ({
                  completed,
                  failed,
                  cancelled,
                  open: queued + running + waiting,
                }),
                RUNS.map(({ id }) => id),
              )}
            />
          )}
        </Section>
        <Section title="Tokens over time">
          {tokens(total) === 0 ? (
            <EmptyState title="No tokens were used in this period." />
          ) : (
            <Chart
              label="Tokens over time"
              unit="Tokens"
              kind="bars"
              series={TOKENS}
              range={stats}
              points={pointsOf(
                steps,
                overTime,
                (counts) => ({ input: counts.input_tokens, output: counts.output_tokens }),
                TOKENS.map(({ id }) => id),
              )}
            />
          )}
        </Section>
        {total.duration_ms !== null && (
          <Section title="Duration of runs over time">
            <DurationsOverTime
              label="Duration of runs over time"
              range={stats}
              steps={overTime.map(({ at, duration_ms: percentiles }) => ({ at, percentiles }))}
            />
          </Section>
        )}
      </div>
      {top.length > 0 && (
        <Section title="Tokens and cost by agent">
          <Ranking
            label="Tokens and cost by agent"
            rows={ranked}
            rest={rest}
            total={total}
            nameHeader="Agent"
            valueHeader={byCost ? 'Cost' : 'Tokens'}
            value={value}
            formatValue={(amount, counts) => (byCost ? <AgentCost {...counts} /> : formatNumber(amount))}
            columns={[
              byCost
                ? { header: 'Tokens', align: 'right', cell: (counts) => formatNumber(tokens(counts)) }
                : { header: 'Cost', align: 'right', cell: (counts) => <AgentCost {...counts} /> },
              { header: 'p95', align: 'right', isSecondary: true, cell: p95Of },
              { header: 'Runs', align: 'right', cell: ({ runs }) => formatNumber(runs) },
              { header: 'Failed', align: 'right', isSecondary: true, cell: ({ failed }) => formatNumber(failed) },
            ]}
          />
        </Section>
      )}
    </>
  );
}

function p95Of({ duration_ms: duration }: Pick<RunCounts, 'duration_ms'>): string {
  return duration === null ? '–' : formatDuration(duration.p95);
}

/** Which part of the runs the cost leaves out, and where to change that. */
function Unpriced({ cost_usd: cost, unpriced_runs: unpriced }: Costs) {
  const { slug, may } = useOrganization();
  if (unpriced === 0) return cost === null ? null : 'at the prices of the time';
  const words = cost === null ? 'no price set' : withoutPrice(unpriced);
  if (!may('MODEL_TIERS_SET')) return words;
  return (
    <Link to="/$org/settings/$section" params={{ org: slug, section: 'models' }} className="text-primary underline">
      {words}
    </Link>
  );
}

function AgentCost({ cost_usd: cost, unpriced_runs: unpriced }: Costs) {
  if (cost === null) return unpriced > 0 ? 'no price set' : '–';
  return (
    <>
      {formatExactCost(cost)}
      {unpriced > 0 && <span className="block text-xs text-muted-foreground">{withoutPrice(unpriced)}</span>}
    </>
  );
}

function withoutPrice(runs: number): string {
  return `${formatNumber(runs)} ${runs === 1 ? 'run' : 'runs'} without a price`;
}
