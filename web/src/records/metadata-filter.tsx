import { useCallback } from 'react';
import type { Filters } from '../api/filters.js';
import { TextField } from '../ui/field.js';
import { SearchField } from '../ui/search-field.js';

/** True if metadata can have this key. */
export function isMetadataKey(key: string): boolean {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(key);
}

/** Finds what has a pair of metadata: a field for the key, and one for the value once there is a key. */
export function MetadataFilter({
  filters: { key = '', value = '' },
  onFilter,
}: {
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
}) {
  const searchValue = useCallback((text: string) => onFilter({ value: text }), [onFilter]);
  return (
    <>
      <TextField
        label="Metadata key"
        isLabelHidden
        placeholder="Metadata key"
        value={key}
        error={key === '' || isMetadataKey(key) ? undefined : 'Letters, digits, _ . and - only.'}
        onChange={(changed) => onFilter({ key: changed })}
      />
      {key !== '' && <SearchField label={`Value of ${key}`} value={value} onSearch={searchValue} />}
    </>
  );
}
