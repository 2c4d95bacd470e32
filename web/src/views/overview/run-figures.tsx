import { Link } from '@tanstack/react-router';
import { useTool } from '../../api/queries.js';
import { Chart } from '../../charts/chart.js';
import { usePeriod } from '../../charts/period.js';
import { Ranking } from '../../charts/ranking.js';
import { formatStep, pointsOf, type Series, stepsOf } from '../../charts/series.js';
import { StatTile } from '../../charts/stat-tile.js';
import { useChoicesById } from '../../pick/choices.js';
import { useOrganization } from '../../session/organization.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatNumber, formatShort } from '../../ui/time.js';

const DAY_S = 86_400;
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

/** Runs of agents and the tokens that they used. */
export function RunFigures() {
  const { may } = useOrganization();
  if (!may('USAGE_STATS')) return null;
  return <Figures />;
}

function Figures() {
  const { slug } = useOrganization();
  const { from } = usePeriod();
  const byDay = useTool('USAGE_STATS', { from, by: 'day' }, { refreshMs: 30_000 });
  const byAgent = useTool('USAGE_STATS', { from, by: 'agent' }, { refreshMs: 30_000 });
  const top = byAgent.data?.groups.slice(0, SHOWN) ?? [];
  const agents = useChoicesById(
    'agent',
    top.flatMap(({ group }) => group ?? []),
  );
  const error = byDay.error ?? byAgent.error;
  if (error && !byDay.data) return <ErrorState error={error} onRetry={() => void byDay.refetch()} />;
  if (!byDay.data || !byAgent.data) return <Loading label="Loading the statistics of runs" />;

  const { total, groups, to } = byDay.data;
  const days = groups.map(({ group, ...counts }) => ({ at: `${group}T00:00:00.000Z`, ...counts }));
  const steps = stepsOf(from, to, DAY_S);
  const formatAt = formatStep(DAY_S, 0);
  const open = (counts: typeof total): number => counts.runs - counts.completed - counts.failed - counts.cancelled;
  return (
    <>
      <dl className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
        <StatTile label="Runs" value={formatShort(total.runs)} note={`${formatNumber(open(total))} not finished`} />
        <StatTile label="Completed runs" value={formatShort(total.completed)} />
        <StatTile label="Failed" value={formatShort(total.failed)} isBad={total.failed > 0} />
        <StatTile label="Tokens" value={formatShort(total.total_tokens)} />
        <StatTile label="Input tokens" value={formatShort(total.input_tokens)} note="sent to models" />
        <StatTile label="Output tokens" value={formatShort(total.output_tokens)} note="written by models" />
      </dl>
      <div className="grid min-w-0 grid-cols-1 gap-4 lg:grid-cols-2">
        <Section title="Runs per day">
          {total.runs === 0 ? (
            <EmptyState title="No agent ran in this period.">
              <Link to="/$org/playground" params={{ org: slug }} className="text-primary underline">
                Talk to an agent
              </Link>
            </EmptyState>
          ) : (
            <Chart
              label="Runs per day"
              kind="bars"
              series={RUNS}
              formatAt={formatAt}
              points={pointsOf(
                steps,
                days,
                (day) => ({ completed: day.completed, failed: day.failed, cancelled: day.cancelled, open: open(day) }),
                RUNS.map(({ id }) => id),
              )}
            />
          )}
        </Section>
        <Section title="Tokens per day">
          {total.total_tokens === 0 ? (
            <EmptyState title="No tokens were used in this period." />
          ) : (
            <Chart
              label="Tokens per day"
              kind="bars"
              series={TOKENS}
              formatAt={formatAt}
              points={pointsOf(
                steps,
                days,
                (day) => ({ input: day.input_tokens, output: day.output_tokens }),
                TOKENS.map(({ id }) => id),
              )}
            />
          )}
        </Section>
      </div>
      {top.length > 0 && (
        <Section title="Tokens by agent">
          <Ranking
            label="Tokens by agent"
            rows={top}
            keyOf={({ group }) => group ?? ''}
            nameHeader="Agent"
            name={({ group }) => (
              <Link
                to="/$org/agents/$agentId"
                params={{ org: slug, agentId: group ?? '' }}
                className="text-primary hover:underline"
              >
                {agents.get(group ?? '')?.label ?? 'A deleted agent'}
              </Link>
            )}
            valueHeader="Tokens"
            value={({ total_tokens: tokens }) => tokens}
            formatValue={formatNumber}
            columns={[
              { header: 'Runs', align: 'right', cell: ({ runs }) => formatNumber(runs) },
              { header: 'Failed', align: 'right', isSecondary: true, cell: ({ failed }) => formatNumber(failed) },
            ]}
          />
        </Section>
      )}
    </>
  );
}
