import { useCallback } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { allOf, type Condition, useList } from '../../api/queries.js';
import { PickerField } from '../../pick/picker-field.js';
import type { Column } from '../../ui/data-table.js';
import { SelectField } from '../../ui/field.js';
import { ListView } from '../../ui/list-view.js';
import { SearchField } from '../../ui/search-field.js';
import { EmptyState } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { EVENT_OPTIONS, eventInWords } from './event-words.js';
import { TimeRangeFields, useTimeCondition } from './time-range.js';
import { ExportButtons } from './export-buttons.js';

export type Event = ListItem<'AUDIT_EVENTS_LIST'>;

/** The filters in the address as a condition of AUDIT_EVENTS_LIST; undefined for none. */
function useEventCondition(): Condition | undefined {
  const [{ kind, person, key, target }] = useFilters();
  return allOf(
    kind ? { field: ['event'], operator: 'eq', value: kind } : undefined,
    person ? { field: ['user_id'], operator: 'eq', value: person } : undefined,
    key ? { field: ['api_key_id'], operator: 'eq', value: key } : undefined,
    target ? { field: ['target_name'], operator: 'contains', value: target } : undefined,
    useTimeCondition(),
  );
}

/** Sign-ins and changes of the organization, the latest first. */
export function AuditEvents() {
  const [{ kind = '', person = '', key = '', target = '' }, filter] = useFilters();
  const where = useEventCondition();
  const search = useCallback((text: string) => filter({ target: text }), [filter]);
  const list = useList('AUDIT_EVENTS_LIST', { where });
  const columns: readonly Column<Event>[] = [
    {
      header: 'Event',
      cell: (event) => (
        <button
          type="button"
          className="text-left font-medium text-primary hover:underline"
          onClick={() => filter({ event: event.id })}
        >
          {eventInWords(event.event)}
        </button>
      ),
    },
    {
      header: 'About',
      cell: ({ target: about }) => <span className="break-all">{about?.name ?? about?.id ?? '–'}</span>,
    },
    { header: 'By', isSecondary: true, cell: actorOf },
    { header: 'From', isSecondary: true, cell: (event) => event.source ?? 'the service' },
    { header: 'When', cell: (event) => <Time value={event.at} /> },
  ];
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <SearchField label="Search by the name of what was changed" value={target} onSearch={search} />
      <div className="grid grid-cols-2 gap-3 md:grid-cols-4 xl:grid-cols-6">
        <SelectField label="Event" value={kind} options={EVENT_OPTIONS} onChange={(value) => filter({ kind: value })} />
        <TimeRangeFields />
        <PickerField
          label="Person"
          kind="person"
          value={person}
          emptyLabel="Anybody"
          onChange={(id) => filter({ person: id })}
        />
        <PickerField label="Key" kind="key" value={key} emptyLabel="Any key" onChange={(id) => filter({ key: id })} />
      </div>
      <div className="flex flex-wrap gap-2">
        <ExportButtons records="events" where={where} />
      </div>
      <ListView
        label="Audit events"
        list={list}
        columns={columns}
        keyOf={(event) => event.id}
        empty={<EmptyState title={where === undefined ? 'Nothing has happened yet.' : 'No event matches.'} />}
      />
    </div>
  );
}

/** Who caused the event. */
export function actorOf({ actor }: Event): string {
  const who = [
    actor.user_email,
    actor.key_name && `key ${actor.key_name}`,
    actor.client_id && `client ${actor.client_id}`,
  ];
  return who.filter(Boolean).join(', ') || 'nobody who is known';
}
