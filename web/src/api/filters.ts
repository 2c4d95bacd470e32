import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters = Readonly<Record<string, string | undefined>>;

/**
 * The filters of the view, which are the search of its address, and a function that changes some of them. Empty ones
 * are left out.
 */
export function useFilters(): readonly [Filters, (change: Filters) => void] {
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Filters): void =>
      void navigate({
        to: '.',
        search: ((current: Filters) => withoutEmpty({ ...current, ...changes })) as never,
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  return [filters, change];
}

/** Addresses carry only the filters that are set. */
function withoutEmpty(filters: Filters): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined && value !== ''));
}
