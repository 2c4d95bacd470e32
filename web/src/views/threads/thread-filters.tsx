import { AgentPicker } from '../../records/agent-picker.js';
import { MoreFilters, NamedSearch, OrderField } from '../../records/found-filters.js';
import { TIME_OPTIONS } from '../../records/time-filter.js';
import type { Filters } from '../../api/filters.js';
import { useOrganization } from '../../session/organization.js';
import { SelectField } from '../../ui/field.js';

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
];

export function ThreadFilters({
  filters,
  onFilter,
}: {
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
}) {
  const { may } = useOrganization();
  return (
    <div role="group" aria-label="Filters" className="flex flex-wrap items-end gap-2 sm:gap-3">
      {may('COLLECTION_THREAD_MESSAGES_LIST') ? (
        <NamedSearch name="q" label="Search titles and messages" value={filters['q'] ?? ''} onFilter={onFilter} />
      ) : (
        <NamedSearch name="title" label="Search by title" value={filters['title'] ?? ''} onFilter={onFilter} />
      )}
      <SelectField
        label="Status"
        isLabelHidden
        value={filters['status'] ?? ''}
        options={STATUSES}
        onChange={(status) => onFilter({ status })}
      />
      <SelectField
        label="Time"
        isLabelHidden
        value={filters['since'] ?? ''}
        options={TIME_OPTIONS}
        onChange={(since) => onFilter({ since, from: undefined, to: undefined })}
      />
      <AgentPicker value={filters['agent'] ?? ''} anyLabel="Any agent" onChange={(agent) => onFilter({ agent })} />
      <OrderField filters={filters} onFilter={onFilter} />
      <MoreFilters filters={filters} onFilter={onFilter} />
    </div>
  );
}
