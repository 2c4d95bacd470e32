import { useState } from 'react';
import { allOf, useList } from '../../../api/queries.js';
import { Badge, StatusBadge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { SearchField } from '../../../ui/search-field.js';
import { ErrorState, Loading } from '../../../ui/states.js';
import { formatNumber } from '../../../ui/format.js';

const SHOWN = 8;

/** Finds connections, and agents that an agent can use as one, and adds them. */
export function ConnectionPicker({
  without,
  onAdd,
}: {
  /** Ids that cannot be added: the agent itself, and what it has. */
  readonly without: readonly string[];
  readonly onAdd: (id: string) => void;
}) {
  const [text, setText] = useState('');
  const {
    query,
    rows,
    totalCount = 0,
  } = useList('COLLECTION_CONNECTIONS_LIST', {
    limit: SHOWN,
    where: allOf(
      without.length === 0
        ? undefined
        : { operator: 'not', conditions: [{ field: ['id'], operator: 'in', value: without }] },
      text === '' ? undefined : { field: ['title'], operator: 'contains', value: text },
    ),
    orderBy: [{ field: ['title'], direction: 'asc' }],
  });
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <SearchField label="Find a connection or an agent to add" value={text} onSearch={setText} />
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading label="Loading connections" />}
      <ul aria-label="Connections to add" className="flex min-w-0 flex-col">
        {rows.map(({ id, title, status, connection_type: type }) => (
          <li key={id} className="flex items-center gap-2 border-b py-1.5 last:border-0">
            <span className="min-w-0 flex-1 text-sm break-words">
              {title} <StatusBadge status={status} /> {type === 'VIRTUAL' && <Badge>agent</Badge>}
            </span>
            <Button variant="secondary" size="small" aria-label={`Add ${title}`} onClick={() => onAdd(id)}>
              Add
            </Button>
          </li>
        ))}
      </ul>
      {query.isSuccess && (
        <p className="text-[0.8125rem] text-muted-foreground" aria-live="polite">
          {rows.length === 0 && (text === '' ? 'There is nothing to add. ' : 'No title matches. ')}
          {totalCount > rows.length && `${formatNumber(totalCount - rows.length)} more: search for the title.`}
        </p>
      )}
    </div>
  );
}
