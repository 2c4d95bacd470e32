import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters = Readonly<Record<string, string | undefined>>;

/** The filters of a list, which are the search parameters of its address, and a function that changes some of them. */
export function useFilters(): readonly [Filters, (change: Filters) => void] {
  const search: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = useCallback(
    (change: Filters): void =>
      void navigate({
        to: '.',
        search: (current: Filters) => withoutEmpty({ ...current, ...change }) as never,
        replace: true,
      }),
    [navigate],
  );
  return [search, set];
}

/** Addresses carry only the filters that are set. */
function withoutEmpty(filters: Filters): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined && value !== ''));
}
