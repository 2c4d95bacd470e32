import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { allOf, type Condition, contains, equals, useList } from '../../api/queries.js';
import { FilterPicker, FilterSearch, FilterSelect } from '../../records/filter-fields.js';
import type { Column } from '../../ui/data-table.js';
import { ListView } from '../../ui/list-view.js';
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
    equals('event', kind),
    equals('user_id', person),
    equals('api_key_id', key),
    contains(target, 'target_name'),
    useTimeCondition(),
  );
}

/** Sign-ins and changes of the organization, the latest first. */
export function AuditEvents() {
  const [, filter] = useFilters();
  const where = useEventCondition();
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
      <FilterSearch name="target" label="Search by the name of what was changed" />
      <div className="grid grid-cols-2 gap-3 md:grid-cols-4 xl:grid-cols-6">
        <FilterSelect name="kind" label="Event" options={EVENT_OPTIONS} />
        <TimeRangeFields />
        <FilterPicker name="person" label="Person" kind="person" emptyLabel="Anybody" />
        <FilterPicker name="key" label="Key" kind="key" emptyLabel="Any key" />
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
