import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { allOf, type Condition, useList } from '../../api/queries.js';
import { StatusBadge } from '../../ui/badge.js';
import type { Column } from '../../ui/data-table.js';
import { SelectField } from '../../ui/field.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { SearchField } from '../../ui/search-field.js';
import { EmptyState } from '../../ui/states.js';
import { Time } from '../../ui/time.js';

type Thread = ListItem<'COLLECTION_THREADS_LIST'>;

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
] as const;

/** All threads of the organization, the ones that changed last first. */
export function ThreadsView() {
  const { org } = useParams({ from: '/$org' });
  const { title = '', status = '' } = useSearch({ from: '/$org/threads' });
  const navigate = useNavigate({ from: '/$org/threads' });
  const filter = useCallback(
    (change: Readonly<Record<string, string>>) =>
      void navigate({ search: (current) => withoutEmpty({ ...current, ...change }), replace: true }),
    [navigate],
  );
  const search = useCallback((text: string) => filter({ title: text }), [filter]);
  const list = useList('COLLECTION_THREADS_LIST', {
    where: allOf(
      titleContains(title),
      status === '' ? undefined : { field: ['status'], operator: 'eq', value: status },
    ),
    orderBy: [{ field: ['updated_at'], direction: 'desc' }],
  });
  const columns: readonly Column<Thread>[] = [
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
    { header: 'Last run', isSecondary: true, cell: ({ last_run: run }) => run && <StatusBadge status={run.status} /> },
    { header: 'Changed', isSecondary: true, cell: (thread) => <Time value={thread.updated_at} /> },
  ];
  return (
    <Page title="Threads" description="Conversations with agents. A thread keeps its whole transcript.">
      <div className="flex flex-wrap items-end gap-3">
        <SearchField label="Search by title" value={title} onSearch={search} />
        <SelectField
          label="Status"
          isLabelHidden
          value={status}
          options={STATUSES as never}
          onChange={(value: string) => filter({ status: value })}
        />
      </div>
      <ListView
        label="Threads"
        list={list}
        columns={columns}
        keyOf={(thread) => thread.id}
        empty={<EmptyState title={title || status ? 'No thread matches.' : 'There are no threads yet.'} />}
      />
    </Page>
  );
}

function titleContains(text: string): Condition | undefined {
  return text === '' ? undefined : { field: ['title'], operator: 'contains', value: text };
}

/** Addresses carry only the filters that are set. */
function withoutEmpty(search: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''));
}
