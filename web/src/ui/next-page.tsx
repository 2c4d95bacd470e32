import type { InfiniteData, InfiniteQueryObserverResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from './button.js';

/** A list or transcript that is read page by page. */
type PagedQuery<Page> = InfiniteQueryObserverResult<InfiniteData<Page>>;

/**
 * Reads the next page. A change that is reported meanwhile makes a query read again what it has, which ends the read of
 * a next page: that is then started again.
 */
export async function readNextPage<Page>(query: PagedQuery<Page>): Promise<PagedQuery<Page>> {
  const known = query.data?.pages.length ?? 0;
  let read = await query.fetchNextPage();
  while (!read.isError && read.hasNextPage && (read.data?.pages.length ?? 0) <= known)
    read = await read.fetchNextPage();
  return read;
}

/** Reads the next page; nothing if there is none. */
export function NextPageButton<Page>({
  query,
  children,
}: {
  readonly query: PagedQuery<Page>;
  /** What the button says. */
  readonly children: ReactNode;
}) {
  if (!query.hasNextPage) return null;
  return (
    <Button
      variant="secondary"
      size="small"
      className="self-start"
      isBusy={query.isFetchingNextPage}
      onClick={() => void readNextPage(query)}
    >
      {children}
    </Button>
  );
}
