import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Column, DataTable } from './data-table.js';
import { NextPageButton } from './next-page.js';
import { ErrorState, Loading } from './states.js';
import { formatCount, formatNumber } from './format.js';

/** Rows that `useList` reads page by page. */
export interface List<Row> {
  readonly query: UseInfiniteQueryResult<InfiniteData<unknown>>;
  readonly rows: readonly Row[];
  readonly totalCount: number | undefined;
  /** True if there are more, of which `totalCount` counts only the first. */
  readonly isCountCut: boolean;
}

/** A list of the API as a table with its states: loading, error, nothing, more pages. */
export function ListView<Row>({
  label,
  list: { query, rows, totalCount, isCountCut },
  columns,
  keyOf,
  empty,
}: {
  readonly label: string;
  readonly list: List<Row>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** What to show when there is nothing. */
  readonly empty: ReactNode;
}) {
  if (query.isError && rows.length === 0)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading label={`Loading: ${label}`} />;
  if (rows.length === 0) return <>{empty}</>;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <DataTable label={label} columns={columns} rows={rows} keyOf={keyOf} />
      <div className="flex items-center justify-between gap-3 text-sm text-muted-foreground">
        <span aria-live="polite">
          {formatNumber(rows.length)} of {formatCount(totalCount ?? rows.length, isCountCut)}
        </span>
        <NextPageButton query={query}>Show more</NextPageButton>
      </div>
    </div>
  );
}
