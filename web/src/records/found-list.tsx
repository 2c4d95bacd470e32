import { Link } from '@tanstack/react-router';
import type { ListItem, ToolInput } from '../../../packages/client/src/api.js';
import { type Filters, useFilters } from '../api/filters.js';
import { allOf, type Condition, useList, useTool } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';
import { Button } from '../ui/button.js';
import type { Column } from '../ui/data-table.js';
import { type List, ListView } from '../ui/list-view.js';
import { EmptyState } from '../ui/states.js';
import { type Chip, chipsOf, FilterChips, metadataChips, timeChips } from './filter-chips.js';
import { ClearFilters } from './filter-fields.js';
import { orderOf, SHARED_WORDS, sharedCondition } from './found-filters.js';
import { type FoundCounts, FoundOverTime } from './found-over-time.js';
import { type FoundRange, useFoundRange } from './found-range.js';

const REFRESH_MS = 60_000;

/**
 * Reads a list of runs or of threads by the filters in the address, and what the service counts of it.
 * @param own the conditions of the filters that only this list has
 */
export function useFound<
  Name extends 'RUN_LIST' | 'COLLECTION_THREADS_LIST',
  Stats extends 'RUN_STATS' | 'THREAD_STATS',
>(listTool: Name, statsTool: Stats, own: (filters: Filters) => readonly (Condition | undefined)[]) {
  const { may } = useOrganization();
  const [filters] = useFilters();
  const range = useFoundRange(filters);
  const where = allOf(...own(filters), sharedCondition(filters));
  const list = useList(listTool, { where: allOf(where, range.condition), orderBy: orderOf(filters) });
  const { data: stats } = useTool(
    statsTool,
    { from: range.from, ...(range.to && { to: range.to }), ...(where && { where }) } as ToolInput<Stats>,
    { isEnabled: may(statsTool), refreshMs: REFRESH_MS },
  );
  return { list, range, stats };
}

/** What a list of runs or of threads finds: the filters that are set, how it spreads over time, and its rows. */
export function FoundList<Row extends ListItem<'RUN_LIST'> | ListItem<'COLLECTION_THREADS_LIST'>>({
  what,
  range,
  words,
  chips = [],
  counts,
  list,
  columns,
  emptyTitle,
}: {
  readonly what: 'runs' | 'threads';
  readonly range: FoundRange;
  /** Of the chips of filters that only this list has, by the filter's name. */
  readonly words: Readonly<Record<string, string>>;
  /** Of filters whose value says nothing. */
  readonly chips?: readonly Chip[];
  /** Undefined until they are read, and if there is nothing to count. */
  readonly counts: FoundCounts | undefined;
  readonly list: List<Row>;
  readonly columns: readonly Column<Row>[];
  /** What to say if there is nothing, and no filter is set. */
  readonly emptyTitle: string;
}) {
  const { slug } = useOrganization();
  const [filters, filter] = useFilters();
  const { sort: _, ...conditions } = filters;
  const isFiltered = Object.values(conditions).some(Boolean);
  return (
    <>
      <FilterChips
        chips={[
          ...timeChips(filters),
          ...chipsOf(filters, { ...SHARED_WORDS, ...words }),
          ...chips,
          ...metadataChips(filters),
        ]}
        onFilter={filter}
      />
      {counts && (
        <FoundOverTime what={what} isAnyTime={range.isAny} filters={filters} onFilter={filter} counts={counts} />
      )}
      <ListView
        label={what === 'runs' ? 'Runs' : 'Threads'}
        list={list}
        columns={columns}
        keyOf={(row) => row.id}
        empty={
          isFiltered ? (
            <EmptyState title={`No ${what.slice(0, -1)} matches.`}>
              <ClearFilters />
            </EmptyState>
          ) : (
            <EmptyState title={emptyTitle}>
              <Button asChild>
                <Link to="/$org/playground" params={{ org: slug }}>
                  Talk to an agent
                </Link>
              </Button>
            </EmptyState>
          )
        }
      />
    </>
  );
}
