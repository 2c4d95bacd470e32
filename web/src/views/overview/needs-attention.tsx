import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { allOf, useList } from '../../api/queries.js';
import { usePeriod } from '../../charts/period.js';
import { useChoicesById } from '../../pick/choices.js';
import { useOrganization } from '../../session/organization.js';
import { Section } from '../../ui/page.js';
import { ErrorState } from '../../ui/states.js';
import { formatCount } from '../../ui/format.js';
import { Time } from '../../ui/time.js';

const SHOWN = 5;

/** What waits for somebody: approvals, connections that do not work, runs that failed. */
export function NeedsAttention() {
  const { may } = useOrganization();
  return (
    <div className="grid min-w-0 grid-cols-1 gap-4 empty:hidden lg:grid-cols-3">
      {may('RUN_LIST') && <WaitingApprovals />}
      {may('COLLECTION_CONNECTIONS_LIST') && <UnavailableConnections />}
      {may('RUN_LIST') && <FailedRuns />}
    </div>
  );
}

function WaitingApprovals() {
  const { slug } = useOrganization();
  const list = useList('RUN_LIST', { where: { field: ['status'], operator: 'eq', value: 'waiting' }, limit: SHOWN });
  const agents = useChoicesById(
    'agent',
    list.rows.map((run) => run.agent_id),
  );
  return (
    <Attention title="Waiting approvals" list={list} nothing="No tool call waits for an approval.">
      {list.rows.map((run) => (
        <li key={run.id}>
          <Link to="/$org/runs/$runId" params={{ org: slug, runId: run.id }} className="text-primary underline">
            {agents.get(run.agent_id)?.label ?? 'Run'}:{' '}
            {run.pending_approvals.map(({ tool_name: name }) => name).join(', ') || 'approval'}
          </Link>{' '}
          <Time value={run.created_at} />
        </li>
      ))}
    </Attention>
  );
}

function UnavailableConnections() {
  const { slug } = useOrganization();
  const list = useList('COLLECTION_CONNECTIONS_LIST', {
    where: { field: ['status'], operator: 'eq', value: 'error' },
    limit: SHOWN,
  });
  return (
    <Attention title="Unavailable connections" list={list} nothing="All connections work.">
      {list.rows.map((connection) => (
        <li key={connection.id}>
          <Link
            to={connection.connection_type === 'VIRTUAL' ? '/$org/agents/$agentId' : '/$org/connections/$connectionId'}
            params={{ org: slug, agentId: connection.id, connectionId: connection.id }}
            className="text-primary underline"
          >
            {connection.title}
          </Link>{' '}
          {connection.status_reason}
        </li>
      ))}
    </Attention>
  );
}

function FailedRuns() {
  const { slug } = useOrganization();
  const { from, to } = usePeriod();
  const list = useList('RUN_LIST', {
    where: allOf(
      { field: ['status'], operator: 'eq', value: 'failed' },
      { field: ['created_at'], operator: 'gte', value: from },
      to === undefined ? undefined : { field: ['created_at'], operator: 'lt', value: to },
    ),
    limit: SHOWN,
  });
  const agents = useChoicesById(
    'agent',
    list.rows.map((run) => run.agent_id),
  );
  return (
    <Attention title="Failed runs" list={list} nothing="No run failed in this period.">
      {list.rows.map((run) => (
        <li key={run.id}>
          <Link to="/$org/runs/$runId" params={{ org: slug, runId: run.id }} className="text-primary underline">
            {agents.get(run.agent_id)?.label ?? 'Run'}: {run.error?.message ?? 'failed'}
          </Link>{' '}
          <Time value={run.finished_at ?? run.created_at} />
        </li>
      ))}
    </Attention>
  );
}

function Attention({
  title,
  list: { query, rows, totalCount = 0, isCountCut },
  nothing,
  children,
}: {
  readonly title: string;
  readonly list: Pick<ReturnType<typeof useList>, 'query' | 'totalCount' | 'isCountCut'> & {
    readonly rows: readonly unknown[];
  };
  readonly nothing: string;
  readonly children: ReactNode;
}) {
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Section title={totalCount > 0 ? `${title} (${formatCount(totalCount, isCountCut)})` : title}>
      {query.isPending ? (
        <p className="text-sm text-muted-foreground">Loading…</p>
      ) : rows.length === 0 ? (
        <p className="text-sm text-muted-foreground">{nothing}</p>
      ) : (
        <ul className="flex flex-col gap-1.5 text-sm break-words">{children}</ul>
      )}
    </Section>
  );
}
