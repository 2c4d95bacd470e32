import { type ReactNode, useState } from 'react';
import { type Filters, useFilters } from '../api/filters.js';
import { allOf, type Condition, equals } from '../api/queries.js';
import { isUuid } from '../api/uuid.js';
import { LENGTH_OPTIONS } from '../charts/lengths.js';
import { useOrganization } from '../session/organization.js';
import type { Option } from '../ui/field.js';
import { AgentPicker } from './agent-picker.js';
import { FilterPicker, FilterSearch, FilterSelect } from './filter-fields.js';
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

/** The filters above a list of runs or of threads. */
export function FoundFilters({
  search,
  statuses,
  names = [],
  children,
}: {
  /** The search box. */
  readonly search: ReactNode;
  readonly statuses: readonly Option[];
  /** Of the filters among the children. */
  readonly names?: readonly string[];
  /** More filters that are needed less often, of one list. */
  readonly children?: ReactNode;
}) {
  const [{ agent = '' }, filter] = useFilters();
  const seesCosts = useSeesCosts();
  return (
    <div role="group" aria-label="Filters" className="flex flex-wrap items-end gap-2 sm:gap-3">
      {search}
      <FilterSelect name="status" label="Status" isLabelHidden options={statuses} />
      <FilterSelect name="since" label="Time" isLabelHidden options={LENGTH_OPTIONS} resets={['from', 'to']} />
      <AgentPicker value={agent} anyLabel="Any agent" onChange={(id) => filter({ agent: id })} />
      <FilterSelect
        name="sort"
        label="Order"
        isLabelHidden
        options={ORDERS.filter(({ value }) => seesCosts || value !== 'cost')}
      />
      <MoreFilters names={names}>{children}</MoreFilters>
    </div>
  );
}

/** The filters that are needed less often, behind a disclosure. It is open at first if metadata or `names` are set. */
function MoreFilters({ names, children }: { readonly names: readonly string[]; readonly children: ReactNode }) {
  const [filters] = useFilters();
  const seesCosts = useSeesCosts();
  const [isOpen] = useState(() => [...names, 'key'].some((name) => filters[name]));
  return (
    <details open={isOpen} className="basis-full">
      <summary className="w-fit cursor-pointer text-sm text-muted-foreground">More filters</summary>
      <div className="grid gap-3 pt-2 sm:grid-cols-2 lg:grid-cols-4">
        {children}
        {MORE.filter(([name]) => seesCosts || name !== 'cost').map(([name, label]) => (
          <FilterSearch key={name} name={name} label={label} />
        ))}
        {seesCosts && (
          <>
            <FilterPicker name="user" label="Person" kind="person" emptyLabel="Any person" />
            <FilterPicker name="apikey" label="Key" kind="key" emptyLabel="Any key" />
          </>
        )}
        <MetadataFilter />
      </div>
    </details>
  );
}
