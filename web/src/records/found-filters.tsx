import { type ReactNode, useCallback, useState } from 'react';
import type { Filters } from '../api/filters.js';
import { allOf, type Condition } from '../api/queries.js';
import { isUuid } from '../api/uuid.js';
import { PickerField } from '../pick/picker-field.js';
import { useOrganization } from '../session/organization.js';
import { SelectField } from '../ui/field.js';
import { SearchField } from '../ui/search-field.js';
import { isMetadataKey, MetadataFilter } from './metadata-filter.js';

type Order = readonly { readonly field: string[]; readonly direction: 'asc' | 'desc' }[];

const ORDERS = [
  { value: '', label: 'Newest first', field: 'created_at' },
  { value: 'changed', label: 'Changed last first', field: 'updated_at' },
  { value: 'cost', label: 'Highest cost first', field: 'cost_usd' },
  { value: 'duration', label: 'Longest first', field: 'duration_ms' },
  { value: 'tokens', label: 'Most tokens first', field: 'total_tokens' },
] as const;

/** The order of a list in the address (`?sort=cost`). */
export function orderOf({ sort = '' }: Filters): Order {
  const { field } = ORDERS.find(({ value }) => value === sort) ?? ORDERS[0];
  return [{ field: [field], direction: 'desc' }];
}

/** A condition for a filter that is set. */
export function equals(field: string, value: string | undefined): Condition | undefined {
  return value ? { field: [field], operator: 'eq', value } : undefined;
}

/** Finds nothing: a filter whose value nothing can have must not show everything. */
const NOTHING: Condition = { field: ['created_at'], operator: 'lt', value: '1970-01-01T00:00:00.000Z' };

/** The conditions of the filters that lists of runs and of threads share. */
export function sharedCondition({ tool, model, code, user, apikey, cost, key, value }: Filters): Condition | undefined {
  return allOf(
    equals('tool', tool),
    equals('model', model),
    equals('error_code', code),
    user && !isUuid(user) ? NOTHING : equals('user_id', user),
    apikey && !isUuid(apikey) ? NOTHING : equals('api_key_id', apikey),
    cost ? costOfAtLeast(Number(cost)) : undefined,
    key && value && isMetadataKey(key) ? { field: ['metadata', key], operator: 'eq', value } : undefined,
  );
}

function costOfAtLeast(usd: number): Condition {
  return Number.isFinite(usd) ? { field: ['cost_usd'], operator: 'gte', value: usd } : NOTHING;
}

/** The words of chips, by the filter's name in the address. */
export const SHARED_WORDS: Readonly<Record<string, string>> = {
  q: 'Words',
  tool: 'Tool',
  model: 'Model',
  code: 'Error',
  cost: 'At least $',
  user: 'Person',
  apikey: 'Key',
};

export function OrderField({
  filters,
  onFilter,
}: {
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
}) {
  const seesCosts = useSeesCosts();
  return (
    <SelectField
      label="Order"
      isLabelHidden
      value={filters['sort'] ?? ''}
      options={ORDERS.filter(({ value }) => seesCosts || value !== 'cost')}
      onChange={(sort) => onFilter({ sort })}
    />
  );
}

const MORE = [
  ['tool', 'Tool, by its exact name'],
  ['model', 'Model, by its exact name'],
  ['code', 'Code of an error'],
  ['cost', 'Cost of at least, in dollars'],
] as const;

/** Whether the caller is allowed to find threads by what their runs cost, and by who posted them. */
function useSeesCosts(): boolean {
  const { may } = useOrganization();
  return may('RUN_LIST') || may('USAGE_STATS');
}

/** The filters that are needed less often, behind a disclosure. It is open at first if metadata or `names` are set. */
export function MoreFilters({
  filters,
  onFilter,
  names = [],
  children,
}: {
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
  /** Of the filters among the children. */
  readonly names?: readonly string[];
  /** More of them, of one list. */
  readonly children?: ReactNode;
}) {
  const seesCosts = useSeesCosts();
  const [isOpen] = useState(() => [...names, 'key'].some((name) => filters[name]));
  return (
    <details open={isOpen} className="basis-full">
      <summary className="w-fit cursor-pointer text-sm text-muted-foreground">More filters</summary>
      <div className="grid gap-3 pt-2 sm:grid-cols-2 lg:grid-cols-4">
        {children}
        {MORE.filter(([name]) => seesCosts || name !== 'cost').map(([name, label]) => (
          <NamedSearch key={name} name={name} label={label} value={filters[name] ?? ''} onFilter={onFilter} />
        ))}
        {seesCosts && (
          <>
            <PickerField
              label="Person"
              kind="person"
              value={filters['user'] ?? ''}
              emptyLabel="Any person"
              onChange={(user) => onFilter({ user })}
            />
            <PickerField
              label="Key"
              kind="key"
              value={filters['apikey'] ?? ''}
              emptyLabel="Any key"
              onChange={(apikey) => onFilter({ apikey })}
            />
          </>
        )}
        <MetadataFilter filters={filters} onFilter={onFilter} />
      </div>
    </details>
  );
}

/** A search box for the filter of this name. */
export function NamedSearch({
  name,
  label,
  value,
  onFilter,
}: {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly onFilter: (change: Filters) => void;
}) {
  const search = useCallback((text: string) => onFilter({ [name]: text }), [name, onFilter]);
  return <SearchField label={label} value={value} onSearch={search} />;
}
