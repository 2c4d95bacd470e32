import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters = Readonly<Record<string, string | undefined>>;

/** The filters of the view, which are the search of its address, and a function that changes some of them. Empty ones are left out. */
export function useFilters(): [Filters, (change: Filters) => void] {
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Filters) =>
      void navigate({
        to: '.',
        search: ((current: Filters) =>
          Object.fromEntries(
            Object.entries({ ...current, ...changes }).filter(([, value]) => value !== undefined && value !== ''),
          )) as never,
        replace: true,
      }),
    [navigate],
  );
  return [filters, change];
}
