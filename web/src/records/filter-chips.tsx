import { X } from 'lucide-react';
import type { Filters } from '../api/filters.js';
import { isTime, rangeInWords } from '../charts/chosen-range.js';
import { Button } from '../ui/button.js';
import { isMetadataKey } from './metadata-filter.js';

/** A filter in words, and the names in the address that it is made of. */
export interface Chip {
  readonly words: string;
  readonly names: readonly string[];
}

/** The filters that are set, each of which can be removed. */
export function FilterChips({
  chips,
  onFilter,
}: {
  readonly chips: readonly Chip[];
  readonly onFilter: (change: Filters) => void;
}) {
  const without = (removed: readonly Chip[]): Filters =>
    Object.fromEntries(removed.flatMap(({ names }) => names.map((name) => [name, undefined])));
  if (chips.length === 0) return null;
  return (
    <ul aria-label="Set filters" className="flex min-w-0 flex-wrap items-center gap-1.5">
      {chips.map((chip) => (
        <li
          key={chip.names.join()}
          className="flex min-w-0 items-center gap-1 rounded-full bg-accent py-0.5 pr-1 pl-2.5 text-[0.8125rem] text-accent-foreground"
        >
          <span className="min-w-0 wrap-anywhere">{chip.words}</span>
          <button
            type="button"
            aria-label={`Remove the filter: ${chip.words}`}
            className="flex size-6 pointer-coarse:size-11 items-center justify-center rounded-full hover:bg-card"
            onClick={() => onFilter(without([chip]))}
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <Button variant="ghost" size="small" onClick={() => onFilter(without(chips))}>
            Remove all
          </Button>
        </li>
      )}
    </ul>
  );
}

/** The chips of filters that hold a value of their own. @param words by name, in front of the value */
export function chipsOf(filters: Filters, words: Readonly<Record<string, string>>): readonly Chip[] {
  return Object.entries(words).flatMap(([name, word]) => {
    const value = filters[name];
    return value?.trim() ? [{ words: `${word} ${value}`, names: [name] }] : [];
  });
}

/** The chip of a pair of metadata. */
export function metadataChips({ key, value }: Filters): readonly Chip[] {
  return key && value && isMetadataKey(key) ? [{ words: `${key}: ${value}`, names: ['key', 'value'] }] : [];
}

/** The chip of a time that a brush has chosen. */
export function timeChips({ from, to }: Filters): readonly Chip[] {
  if (!isTime(from) || !isTime(to)) return [];
  return [{ words: rangeInWords(from, to), names: ['from', 'to'] }];
}
