import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useList, useTool } from '../../api/queries.js';
import { weekAgo } from '../../charts/lengths.js';
import { StatTile } from '../../charts/stat-tile.js';
import { runColumns } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading, NoPermission } from '../../ui/states.js';
import { formatCost, formatDuration, formatNumber, formatShort } from '../../ui/format.js';

/** What an agent has done: its runs, what they cost, and what went wrong. */
export function AgentRuns({ agentId }: { readonly agentId: string }) {
  const { slug, may } = useOrganization();
  const list = useList(
    'RUN_LIST',
    {
      where: { field: ['agent_id'], operator: 'eq', value: agentId },
      orderBy: [{ field: ['created_at'], direction: 'desc' }],
    },
    { isEnabled: may('RUN_LIST') },
  );
  if (!may('RUN_LIST')) return <NoPermission detail="Your role or key does not include RUN_LIST." />;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {may('RUN_STATS') && <Figures agentId={agentId} />}
      <Section
        title="Runs"
        actions={
          <Link to="/$org/runs" params={{ org: slug }} search={{ agent: agentId }} className="text-sm text-primary">
            Filter and search
          </Link>
        }
      >
        <ListView
          label="Runs of the agent"
          list={list}
          columns={runColumns({ org: slug })}
          keyOf={(run) => run.id}
          empty={<EmptyState title="The agent has not run yet." />}
        />
      </Section>
    </div>
  );
}

function Figures({ agentId }: { readonly agentId: string }) {
  const from = useMemo(weekAgo, []);
  const { data, error, refetch } = useTool('RUN_STATS', { agent_id: agentId, from }, { refreshMs: 30_000 });
  if (error && !data) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading label="Loading the figures of the agent" />;
  const { total } = data;
  const over = total.completed + total.failed;
  return (
    <dl aria-label="The last 7 days" className="grid grid-cols-2 gap-3 md:grid-cols-5">
      <StatTile label="Runs, 7 days" value={formatShort(total.runs)} />
      <StatTile
        label="Failed"
        value={formatShort(total.failed)}
        note={over === 0 ? undefined : `${Math.round((total.failed / over) * 100)} % of those that ended`}
        isBad={total.failed > 0}
      />
      <StatTile
        label="p95 of runs"
        value={total.duration_ms === null ? '–' : formatDuration(total.duration_ms.p95)}
        note="95 of 100 were faster"
      />
      <StatTile label="Tokens" value={formatShort(total.input_tokens + total.output_tokens)} />
      <StatTile
        label="Cost"
        value={total.cost_usd === null ? '–' : formatCost(total.cost_usd)}
        note={total.unpriced_runs > 0 ? `${formatNumber(total.unpriced_runs)} without a price` : undefined}
      />
    </dl>
  );
}
