import { useEffect, useMemo } from 'react';
import { useList } from '../api/queries.js';
import type { RunDetails } from '../records/run-columns.js';
import { useOrganization } from '../session/organization.js';
import { formatNumber } from '../ui/time.js';
import { recordsOfRun } from './records-of-run.js';
import type { CallRecord } from './timeline.js';

/** A longer trace says that it is cut. */
const MAX_CALLS = 5_000;
/** The records of a call can be large: a page of them comes while the rest is read. */
const PAGE_SIZE = 1_000;

const NOT_PERMITTED = 'Your role or key does not include MONITORING_LOGS_LIST, so tool calls are not shown one by one.';

interface RunCalls {
  readonly calls: readonly CallRecord[];
  /** Whether they are all calls of the run. */
  readonly isComplete: boolean;
  readonly isReading: boolean;
  /** Why some are missing, once that is known. */
  readonly missing: string | undefined;
}

/** The recorded tool calls of a run, from the first on; none without the permission to read them. */
export function useRunCalls(run: RunDetails): RunCalls {
  const { may } = useOrganization();
  const mayRead = may('MONITORING_LOGS_LIST');
  const { query } = useList(
    'MONITORING_LOGS_LIST',
    {
      where: recordsOfRun(
        run.id,
        Date.parse(run.created_at),
        run.finished_at === null ? undefined : Date.parse(run.finished_at),
      ),
      orderBy: [{ field: ['at'], direction: 'asc' }],
      limit: PAGE_SIZE,
      count_limit: MAX_CALLS,
    },
    { isEnabled: mayRead },
  );
  const { data, isPlaceholderData, hasNextPage, isFetching, isError, fetchNextPage, refetch } = query;
  useEffect(() => {
    if (mayRead) void refetch();
  }, [run, mayRead, refetch]);
  const calls = useMemo(() => data?.pages.flatMap(({ items }) => items).slice(0, MAX_CALLS) ?? [], [data]);
  const goesOn = hasNextPage && calls.length < MAX_CALLS;
  useEffect(() => {
    if (goesOn && !isFetching && !isError) void fetchNextPage();
  }, [goesOn, isFetching, isError, fetchNextPage]);
  const isRead = data !== undefined && !isPlaceholderData;
  return {
    calls,
    isComplete: isRead && !hasNextPage,
    isReading: mayRead && !isError && (!isRead || goesOn),
    missing: missingCalls({ mayRead, isError, isCut: isRead && hasNextPage && !goesOn }),
  };
}

function missingCalls({ mayRead, isError, isCut }: Readonly<Record<'mayRead' | 'isError' | 'isCut', boolean>>) {
  if (!mayRead) return NOT_PERMITTED;
  if (isError) return 'Not all tool calls could be read.';
  return isCut ? `Only the first ${formatNumber(MAX_CALLS)} calls are shown.` : undefined;
}
