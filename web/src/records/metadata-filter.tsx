import { useFilters } from '../api/filters.js';
import { TextField } from '../ui/field.js';
import { FilterSearch } from './filter-fields.js';

/** True if metadata can have this key. */
export function isMetadataKey(key: string): boolean {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(key);
}

/** Finds what has a pair of metadata: a field for the key, and one for the value once there is a key. */
export function MetadataFilter() {
  const [{ key = '' }, filter] = useFilters();
  return (
    <>
      <TextField
        label="Metadata key"
        isLabelHidden
        placeholder="Metadata key"
        value={key}
        error={key === '' || isMetadataKey(key) ? undefined : 'Letters, digits, _ . and - only.'}
        onChange={(changed) => filter({ key: changed })}
      />
      {key !== '' && <FilterSearch name="value" label={`Value of ${key}`} />}
    </>
  );
}
