import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { allOf, type Condition, useList, useTool } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { chipsOf, FilterChips, metadataChips, timeChips } from '../../records/filter-chips.js';
import { equals, orderOf, SHARED_WORDS, sharedCondition } from '../../records/found-filters.js';
import { FoundOverTime } from '../../records/found-over-time.js';
import { useFoundRange } from '../../records/found-range.js';
import { SavedViews } from '../../records/saved-views.js';
import { usedColumns } from '../../records/used-columns.js';
import { type Filters, useFilters } from '../../api/filters.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { EmptyState } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { ThreadFilters } from './thread-filters.js';

type Thread = ListItem<'COLLECTION_THREADS_LIST'>;

const REFRESH_MS = 60_000;

/** All threads of the organization: newest first, or in another order, and those that filters find. */
export function ThreadsView() {
  const { slug, may } = useOrganization();
  const [filters, filter] = useFilters();
  const range = useFoundRange(filters);
  const where = allOf(...conditionsOf(filters), sharedCondition(filters));
  const list = useList('COLLECTION_THREADS_LIST', {
    where: allOf(where, range.condition),
    orderBy: orderOf(filters),
  });
  const { data: stats } = useTool(
    'THREAD_STATS',
    { from: range.from, ...(range.to && { to: range.to }), ...(where && { where }) },
    { isEnabled: may('THREAD_STATS'), refreshMs: REFRESH_MS },
  );
  const titleOf = useAgentTitles(list.rows.map((thread) => thread.virtual_mcp_id));
  const { sort: _, ...conditions } = filters;
  const isFiltered = Object.values(conditions).some(Boolean);
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
      <ThreadFilters filters={filters} onFilter={filter} />
      <FilterChips
        chips={[
          ...timeChips(filters),
          ...chipsOf(filters, { ...SHARED_WORDS, title: 'Title' }),
          ...metadataChips(filters),
        ]}
        onFilter={filter}
      />
      {stats && stats.total.threads > 0 && (
        <FoundOverTime
          what="threads"
          isAnyTime={range.isAny}
          filters={filters}
          onFilter={filter}
          counts={{
            ...stats,
            bars: stats.over_time.map(({ at, threads, failed }) => ({ at, count: threads, failed })),
            failures: stats.failures.map(({ code, threads }) => ({ code, count: threads })),
          }}
        />
      )}
      <ListView
        label="Threads"
        list={list}
        columns={columnsFor(slug, titleOf, (tool) => filter({ tool }))}
        keyOf={(thread) => thread.id}
        empty={
          isFiltered ? (
            <EmptyState title="No thread matches.">
              <Button
                variant="secondary"
                onClick={() => filter(Object.fromEntries(Object.keys(filters).map((name) => [name, undefined])))}
              >
                Clear filters
              </Button>
            </EmptyState>
          ) : (
            <EmptyState title="There are no threads yet.">
              <Button asChild>
                <Link to="/$org/playground" params={{ org: slug }}>
                  Talk to an agent
                </Link>
              </Button>
            </EmptyState>
          )
        }
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
            className="line-clamp-2 min-w-40 font-medium break-words text-primary hover:underline"
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
          <span className="line-clamp-2 min-w-28 break-words" title={titleOf(agent)}>
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
          <Link to="/$org/runs/$runId" params={{ org, runId: run.id }} aria-label={`Last run: ${run.status}`}>
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
    title ? { field: ['title'], operator: 'contains', value: title } : undefined,
    equals('status', status),
    equals('virtual_mcp_id', agent),
  ];
}
