import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { allOf, type Condition, useList } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { useTimeFilter } from '../../records/time-filter.js';
import { type Filters, useFilters } from '../../api/filters.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { EmptyState } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { isMetadataKey, ThreadFilters } from './thread-filters.js';

type Thread = ListItem<'COLLECTION_THREADS_LIST'>;

/** All threads of the organization, the ones that changed last first. */
export function ThreadsView() {
  const { slug } = useOrganization();
  const [filters, filter] = useFilters();
  const since = useTimeFilter('updated_at', filters['since'] ?? '');
  const list = useList('COLLECTION_THREADS_LIST', {
    where: allOf(...conditionsOf(filters), since),
    orderBy: [{ field: ['updated_at'], direction: 'desc' }],
  });
  const titleOf = useAgentTitles(list.rows.map((thread) => thread.virtual_mcp_id));
  const isFiltered = Object.values(filters).some(Boolean);
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
      <ThreadFilters filters={filters} onFilter={filter} />
      <ListView
        label="Threads"
        list={list}
        columns={columnsFor(slug, titleOf)}
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

function columnsFor(org: string, titleOf: (id: string) => string): readonly Column<Thread>[] {
  return [
    {
      header: 'Title',
      cell: (thread) => (
        <Link
          to="/$org/threads/$threadId"
          params={{ org, threadId: thread.id }}
          className="font-medium break-words text-primary hover:underline"
        >
          {thread.title}
        </Link>
      ),
    },
    { header: 'Status', cell: (thread) => <StatusBadge status={thread.status} /> },
    {
      header: 'Agent',
      isSecondary: true,
      cell: (thread) => <span className="break-words">{titleOf(thread.virtual_mcp_id)}</span>,
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
    { header: 'Changed', isSecondary: true, cell: (thread) => <Time value={thread.updated_at} /> },
  ];
}

function conditionsOf({ title, status, agent, key, value }: Filters): (Condition | undefined)[] {
  return [
    title ? { field: ['title'], operator: 'contains', value: title } : undefined,
    status ? { field: ['status'], operator: 'eq', value: status } : undefined,
    agent ? { field: ['virtual_mcp_id'], operator: 'eq', value: agent } : undefined,
    key && value && isMetadataKey(key) ? { field: ['metadata', key], operator: 'eq', value } : undefined,
  ];
}
