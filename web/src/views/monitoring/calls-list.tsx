import { useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { useList } from '../../api/queries.js';
import { ClearFilters, FilterPicker, FilterSearch, FilterSelect } from '../../records/filter-fields.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ListView } from '../../ui/list-view.js';
import { EmptyState } from '../../ui/states.js';
import { formatDuration } from '../../ui/format.js';
import { Time } from '../../ui/time.js';
import { CALL_KINDS, DOORS, useCallCondition } from './call-conditions.js';
import { TimeRangeFields } from './time-range.js';
import { ExportButtons } from './export-buttons.js';

export type Call = ListItem<'MONITORING_LOGS_LIST'>;

const STATUSES = [
  { value: '', label: 'Any outcome' },
  { value: 'success', label: 'Success' },
  { value: 'error', label: 'Error' },
  { value: 'denied', label: 'Denied' },
] as const;
const DOOR_OPTIONS = [
  { value: '', label: 'Any way' },
  ...Object.entries(DOORS).map(([value, label]) => ({ value, label })),
];

/** The record of tool calls, the latest first. */
export function CallsList() {
  const [filters, filter] = useFilters();
  const where = useCallCondition();
  const list = useList('MONITORING_LOGS_LIST', { where });
  const columns: readonly Column<Call>[] = [
    {
      header: 'Tool',
      cell: (call) => (
        <div className="flex min-w-36 flex-col items-start">
          <button
            type="button"
            className="text-left font-medium wrap-anywhere text-primary hover:underline"
            onClick={() => filter({ record: call.id })}
          >
            {call.tool_name}
          </button>
          <span className="text-[0.8125rem] text-muted-foreground">{call.connection_title ?? 'Management'}</span>
        </div>
      ),
    },
    { header: 'Outcome', cell: (call) => <StatusBadge status={call.status} /> },
    {
      header: 'Took',
      align: 'right',
      cell: (call) => <span className="whitespace-nowrap">{formatDuration(call.duration_ms)}</span>,
    },
    { header: 'Came as', isSecondary: true, cell: (call) => DOORS[call.door] ?? call.door },
    { header: 'Caller', isSecondary: true, cell: callerOf },
    { header: 'When', isBelow: true, cell: (call) => <Time value={call.at} /> },
  ];
  const isFiltered = Object.entries(filters).some(([name, value]) => value && name !== 'tab' && name !== 'record');
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <CallFilters />
      <div className="flex flex-wrap gap-2">
        <ExportButtons records="calls" where={where} />
      </div>
      <ListView
        label="Tool calls"
        list={list}
        columns={columns}
        keyOf={(call) => call.id}
        empty={
          <EmptyState title={isFiltered ? 'No call matches.' : 'No tool has been called yet.'}>
            {!filters['calls'] && (
              <Button variant="secondary" onClick={() => filter({ calls: 'all' })}>
                Show management tools, too
              </Button>
            )}
            {isFiltered && <ClearFilters />}
          </EmptyState>
        }
      />
    </div>
  );
}

/** Who called: a person, a key, or nobody for a public tool. */
export function callerOf({ user_email: email, key_name: key, public: isPublic }: Call): string {
  if (email !== null) return key === null ? email : `${email} with ${key}`;
  return key ?? (isPublic ? 'anonymous (public tool)' : 'anonymous');
}

function CallFilters() {
  const [{ door, connection, agent, key, person }] = useFilters();
  // On a phone, the calls come first.
  const [isOpen] = useState(
    () => [door, connection, agent, key, person].some(Boolean) || matchMedia('(min-width: 48rem)').matches,
  );
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <FilterSearch name="tool" label="Search by tool name" />
      <div className="grid grid-cols-2 gap-3 md:grid-cols-4">
        <FilterSelect name="status" label="Outcome" options={STATUSES} />
        <FilterSelect name="calls" label="Calls of" options={CALL_KINDS} />
        <TimeRangeFields />
      </div>
      <details open={isOpen}>
        <summary className="w-fit cursor-pointer text-sm text-muted-foreground">More filters</summary>
        <div className="grid grid-cols-2 gap-3 pt-2 md:grid-cols-3 xl:grid-cols-5">
          <FilterSelect name="door" label="Came as" options={DOOR_OPTIONS} />
          <FilterPicker name="connection" label="Connection" kind="connection" emptyLabel="Any connection" />
          <FilterPicker name="agent" label="Agent" kind="agent" emptyLabel="Any agent" />
          <FilterPicker name="key" label="Key" kind="key" emptyLabel="Any key" />
          <FilterPicker name="person" label="Person" kind="person" emptyLabel="Anybody" />
        </div>
      </details>
    </div>
  );
}
