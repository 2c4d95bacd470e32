import type { ReactNode } from 'react';
import { useFilters } from '../api/filters.js';
import { type Condition, contains } from '../api/queries.js';
import type { Column } from '../ui/data-table.js';
import type { Option } from '../ui/field.js';
import { type List, ListView } from '../ui/list-view.js';
import { EmptyState } from '../ui/states.js';
import { ClearFilters, FilterSearch, FilterSelect } from './filter-fields.js';

/** The statuses of agents and of connections, to choose from. */
export const STATUS_CHOICE = {
  name: 'status',
  label: 'Status',
  options: [
    { value: '', label: 'Any status' },
    { value: 'active', label: 'Active' },
    { value: 'error', label: 'Error' },
    { value: 'inactive', label: 'Inactive' },
  ],
} as const;

/** Lists by title. */
export const BY_TITLE = [{ field: ['title'], direction: 'asc' as const }];

/** Finds the words of the search box (`?q=`) in the title or the description. */
export function titleCondition(q: string | undefined): Condition | undefined {
  return contains(q, 'title', 'description');
}

/** The agents or the connections of the organization: a search, choices, and what they find. */
export function TitledList<Row extends { readonly id: string }>({
  label,
  noun,
  choices,
  list,
  columns,
  hint,
  children,
}: {
  readonly label: string;
  /** What a row is. */
  readonly noun: string;
  /** The filters next to the search. */
  readonly choices: readonly { readonly name: string; readonly label: string; readonly options: readonly Option[] }[];
  readonly list: List<Row>;
  readonly columns: readonly Column<Row>[];
  /** How the first one is made. */
  readonly hint: string;
  /** What makes the first one. */
  readonly children: ReactNode;
}) {
  const [filters] = useFilters();
  const isFiltered = ['q', ...choices.map(({ name }) => name)].some((name) => filters[name]);
  return (
    <>
      <div className="flex flex-wrap items-end gap-3">
        <FilterSearch name="q" label="Search by title or description" />
        {choices.map((choice) => (
          <FilterSelect key={choice.name} {...choice} isLabelHidden />
        ))}
      </div>
      <ListView
        label={label}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          isFiltered ? (
            <EmptyState title={`No ${noun} matches.`}>
              <ClearFilters />
            </EmptyState>
          ) : (
            <EmptyState title={`There are no ${noun}s yet.`}>
              <p className="max-w-prose text-sm text-muted-foreground">{hint}</p>
              {children}
            </EmptyState>
          )
        }
      />
    </>
  );
}

/** A title, which is a link, above a line of the description. */
export function TitleCell({ link, description }: { readonly link: ReactNode; readonly description: string | null }) {
  return (
    <div className="min-w-40">
      {link}
      {description && <p className="line-clamp-1 wrap-anywhere text-muted-foreground">{description}</p>}
    </div>
  );
}
