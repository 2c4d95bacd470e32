import { useCallback } from 'react';
import { AgentPicker } from '../../records/agent-picker.js';
import { TIME_OPTIONS } from '../../records/time-filter.js';
import type { Filters } from '../../api/filters.js';
import { SelectField, TextField } from '../../ui/field.js';
import { SearchField } from '../../ui/search-field.js';

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
];

/** True if metadata can have this key. */
export function isMetadataKey(key: string): boolean {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(key);
}

export function ThreadFilters({
  filters,
  onFilter,
}: {
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
}) {
  const { key = '', value = '' } = filters;
  const searchTitle = useCallback((title: string) => onFilter({ title }), [onFilter]);
  const searchValue = useCallback((text: string) => onFilter({ value: text }), [onFilter]);
  return (
    <div role="group" aria-label="Filters" className="flex flex-wrap items-end gap-3">
      <SearchField label="Search by title" value={filters['title'] ?? ''} onSearch={searchTitle} />
      <SelectField
        label="Status"
        isLabelHidden
        value={filters['status'] ?? ''}
        options={STATUSES}
        onChange={(status) => onFilter({ status })}
      />
      <SelectField
        label="Time of change"
        isLabelHidden
        value={filters['since'] ?? ''}
        options={TIME_OPTIONS}
        onChange={(since) => onFilter({ since })}
      />
      <AgentPicker value={filters['agent'] ?? ''} anyLabel="Any agent" onChange={(agent) => onFilter({ agent })} />
      <TextField
        label="Metadata key"
        isLabelHidden
        placeholder="Metadata key"
        className="w-36"
        value={key}
        error={key === '' || isMetadataKey(key) ? undefined : 'Letters, digits, _ . and - only.'}
        onChange={(changed) => onFilter({ key: changed })}
      />
      {key !== '' && <SearchField label={`Value of ${key}`} value={value} onSearch={searchValue} />}
    </div>
  );
}
