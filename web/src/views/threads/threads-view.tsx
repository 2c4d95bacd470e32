import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { type Filters, useFilters } from '../../api/filters.js';
import { type Condition, contains, equals } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { FoundList, useFound } from '../../records/found-list.js';
import { SavedViews } from '../../records/saved-views.js';
import { usedColumns } from '../../records/used-columns.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { Page } from '../../ui/page.js';
import { Time } from '../../ui/time.js';
import { ThreadFilters } from './thread-filters.js';

type Thread = ListItem<'COLLECTION_THREADS_LIST'>;

/** All threads of the organization: newest first, or in another order, and those that filters find. */
export function ThreadsView() {
  const { slug } = useOrganization();
  const [filters, filter] = useFilters();
  const { list, range, stats } = useFound('COLLECTION_THREADS_LIST', 'THREAD_STATS', conditionsOf);
  const titleOf = useAgentTitles(list.rows.map((thread) => thread.virtual_mcp_id));
  return (
    <Page
      title="Threads"
      description="Conversations with agents. A thread keeps its whole transcript."
      actions={
        <Button asChild>
          <Link to="/$org/playground" params={{ org: slug }}>
            New chat
          </Link>
        </Button>
      }
    >
      <SavedViews list="threads" filters={filters} onFilter={filter} />
      <ThreadFilters />
      <FoundList
        what="threads"
        range={range}
        words={{ title: 'Title' }}
        counts={
          stats && stats.total.threads > 0
            ? {
                ...stats,
                bars: stats.over_time.map(({ at, threads, failed }) => ({ at, count: threads, failed })),
                failures: stats.failures.map(({ code, threads }) => ({ code, count: threads })),
              }
            : undefined
        }
        list={list}
        columns={columnsFor(slug, titleOf, (tool) => filter({ tool }))}
        emptyTitle="There are no threads yet."
      />
    </Page>
  );
}

function columnsFor(
  org: string,
  titleOf: (id: string) => string,
  onTool: (tool: string) => void,
): readonly Column<Thread>[] {
  return [
    {
      header: 'Title',
      cell: (thread) => (
        <>
          <Link
            to="/$org/threads/$threadId"
            params={{ org, threadId: thread.id }}
            className="line-clamp-2 min-w-40 font-medium wrap-anywhere text-primary hover:underline"
            title={thread.title}
          >
            {thread.title}
          </Link>
          {thread.question && thread.question !== thread.title && (
            <span
              className="line-clamp-1 max-w-96 min-w-32 text-[0.8125rem] wrap-anywhere text-muted-foreground"
              title={thread.question}
            >
              {thread.question}
            </span>
          )}
        </>
      ),
    },
    { header: 'Status', cell: (thread) => <StatusBadge status={thread.status} /> },
    {
      header: 'Agent',
      isSecondary: true,
      cell: ({ virtual_mcp_id: agent, last_run: run }) => (
        <>
          <span className="line-clamp-2 min-w-28 wrap-anywhere" title={titleOf(agent)}>
            {titleOf(agent)}
          </span>
          {run?.model && <span className="block text-xs wrap-anywhere text-muted-foreground">{run.model}</span>}
        </>
      ),
    },
    {
      header: 'Last run',
      isSecondary: true,
      cell: ({ last_run: run }) =>
        run && (
          <Link to="/$org/runs/$runId" params={{ org, runId: run.id }}>
            <span className="sr-only">Last run: </span>
            <StatusBadge status={run.status} />
          </Link>
        ),
    },
    ...usedColumns<Thread>((thread) => ({ ...thread, tokens: thread.total_tokens }), onTool),
    {
      header: 'Changed',
      isSecondary: true,
      cell: (thread) => (
        <>
          <Time value={thread.updated_at} />
          <span className="block text-xs whitespace-nowrap text-muted-foreground">
            started <Time value={thread.created_at} />
          </span>
        </>
      ),
    },
  ];
}

function conditionsOf({ q, title, status, agent }: Filters): (Condition | undefined)[] {
  return [
    q?.trim() ? { field: ['text'], operator: 'matches', value: q } : undefined,
    contains(title, 'title'),
    equals('status', status),
    equals('virtual_mcp_id', agent),
  ];
}
