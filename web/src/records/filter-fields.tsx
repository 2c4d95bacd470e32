import { useCallback } from 'react';
import { type Filters, useFilters } from '../api/filters.js';
import type { ChoiceKind } from '../pick/choices.js';
import { PickerField } from '../pick/picker-field.js';
import { Button } from '../ui/button.js';
import { type Option, SelectField } from '../ui/field.js';
import { SearchField } from '../ui/search-field.js';

interface FilterField {
  /** Of the filter in the address: `q` for `?q=…`. */
  readonly name: string;
  readonly label: string;
}

/** A search box for a filter of the address. */
export function FilterSearch({ name, label }: FilterField) {
  const [{ [name]: value = '' }, filter] = useFilters();
  const search = useCallback((text: string) => filter({ [name]: text }), [name, filter]);
  return <SearchField label={label} value={value} onSearch={search} />;
}

/** A choice of one for a filter of the address. */
export function FilterSelect({
  name,
  options,
  fallback = '',
  resets = [],
  ...field
}: FilterField & {
  readonly options: readonly Option[];
  /** What holds without the filter. */
  readonly fallback?: string;
  /** Other filters, which a choice removes. */
  readonly resets?: readonly string[];
  readonly isLabelHidden?: boolean;
  readonly className?: string;
}) {
  const [{ [name]: value }, filter] = useFilters();
  return (
    <SelectField
      {...field}
      options={options}
      value={options.find((option) => option.value === value)?.value ?? fallback}
      onChange={(chosen) => filter({ ...without(resets), [name]: chosen === fallback ? undefined : chosen })}
    />
  );
}

/** A choice of something of the organization for a filter of the address. */
export function FilterPicker({
  name,
  resets = [],
  ...field
}: FilterField & { readonly kind: ChoiceKind; readonly emptyLabel: string; readonly resets?: readonly string[] }) {
  const [{ [name]: value = '' }, filter] = useFilters();
  return <PickerField {...field} value={value} onChange={(id) => filter({ ...without(resets), [name]: id })} />;
}

/** Removes every filter of the address. */
export function ClearFilters() {
  const [filters, filter] = useFilters();
  return (
    <Button variant="secondary" onClick={() => filter(without(Object.keys(filters)))}>
      Clear filters
    </Button>
  );
}

function without(names: readonly string[]): Filters {
  return Object.fromEntries(names.map((name) => [name, undefined]));
}
