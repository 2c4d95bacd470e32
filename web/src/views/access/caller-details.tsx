import { useEffect } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useList } from '../../api/queries.js';
import { StatusBadge } from '../../ui/badge.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState, Loading } from '../../ui/states.js';
import { formatNumber } from '../../ui/format.js';
import type { AccessMap, MapNode } from './access-map.js';
import { AccessLink } from './node-link.js';

/** The input that asks about a key or a person. */
export function askedCaller({ kind, id }: MapNode): { api_key_id: string } | { user_id: string } {
  return kind === 'key' ? { api_key_id: id } : { user_id: id };
}

/** What a key or a person can do: exactly, as the service would decide. */
export function CallerDetails({ map, caller }: { readonly map: AccessMap; readonly caller: MapNode }) {
  const request = { ...askedCaller(caller), limit: 100 };
  const list = useList('ACCESS_OF_CALLER', request);
  const { data, hasNextPage: hasMore, isError, isFetching, fetchNextPage } = list.query;
  // Pages leave out what is out of reach, so nobody knows yet how many there are, and a page can be empty.
  const isLookingFurther = list.rows.length === 0 && hasMore && !isError;
  useEffect(() => {
    if (isLookingFurther && !isFetching) void fetchNextPage();
  }, [isLookingFurther, isFetching, fetchNextPage]);
  const answer = data?.pages[0] as ToolOutput<'ACCESS_OF_CALLER'> | undefined;
  const management = answer?.management_tools;
  const traffic = new Map(map.waysFrom(caller).map((way) => [way.to.id, way.traffic]));
  return (
    <>
      <Section title="Connections and agents">
        {isLookingFurther ? (
          <Loading label="Loading: What it reaches" />
        ) : (
          <ListView
            label="What it reaches"
            list={{ ...list, totalCount: list.rows.length + (hasMore ? 1 : 0), isCountCut: hasMore }}
            keyOf={({ id }) => id}
            empty={<EmptyState title={caller.status === 'active' ? 'It reaches nothing.' : 'The key has expired.'} />}
            columns={[
              {
                header: 'Name',
                cell: ({ id, title, connection_type: type, status }) => (
                  <span className="flex flex-wrap items-center gap-2">
                    <AccessLink search={{ node: `${type === 'VIRTUAL' ? 'agent' : 'connection'}:${id}` }}>
                      {title}
                    </AccessLink>
                    <span className="text-muted-foreground">{type === 'VIRTUAL' ? 'agent' : ''}</span>
                    {status !== 'active' && <StatusBadge status={status} />}
                  </span>
                ),
              },
              {
                header: 'Can call',
                cell: ({ id, callable, tools, status }) => (
                  <AccessLink search={{ node: caller.ref, open: id }} className="text-primary hover:underline">
                    {callableInWords(callable, tools)}
                    <span className="sr-only"> of this: show them</span>
                    {status === 'inactive' && ', while it is active'}
                  </AccessLink>
                ),
              },
              { header: 'Can run', isSecondary: true, cell: ({ run, approvals }) => runInWords(run, approvals) },
              {
                header: 'Calls',
                align: 'right',
                cell: ({ id }) => formatNumber(traffic.get(id)?.calls ?? 0),
              },
              {
                header: 'Errors',
                align: 'right',
                isSecondary: true,
                cell: ({ id }) => formatNumber(traffic.get(id)?.errors ?? 0),
              },
            ]}
          />
        )}
      </Section>
      {management && (
        <Section title={`Management tools (${formatNumber(management.length)})`}>
          {management.length === 0 ? (
            <p className="text-sm text-muted-foreground">None.</p>
          ) : (
            <details className="text-sm">
              <summary className="cursor-pointer">Show their names</summary>
              <ul className="columns-1 gap-4 pt-2 sm:columns-2 xl:columns-3">
                {management.map((name) => (
                  <li key={name} className="font-mono text-[0.8125rem] break-all">
                    {name}
                  </li>
                ))}
              </ul>
            </details>
          )}
        </Section>
      )}
    </>
  );
}

function callableInWords(callable: number, tools: number | null): string {
  if (tools === null) return 'tools not known yet';
  if (callable === tools && tools > 0) return `all ${formatNumber(tools)} tools`;
  return `${formatNumber(callable)} of ${formatNumber(tools)} tools`;
}

function runInWords(run: boolean | null, approvals: number | null): string {
  if (run === null) return '';
  if (!run) return 'no';
  return approvals ? `yes; ${formatNumber(approvals)} tools ask first` : 'yes';
}
