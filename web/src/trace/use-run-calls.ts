import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ToolOutput } from '../../../packages/client/src/api.js';
import { toolKey } from '../api/queries.js';
import type { RunDetails } from '../records/run-columns.js';
import { type Organization, useOrganization } from '../session/organization.js';
import { formatNumber } from '../ui/format.js';
import { recordsOfRun } from './records-of-run.js';
import type { CallRecord } from './span.js';

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

/** The records that were read. */
interface Read {
  /** In the order of their times. */
  readonly calls: readonly CallRecord[];
  /** There are more of them. */
  readonly hasMore: boolean;
  /** The records before this time are known. */
  readonly knownUntil: number;
}

const NO_CALLS: readonly CallRecord[] = [];

/**
 * The recorded tool calls of a run, from the first on; none without the permission to read them. When the run changes,
 * only what is new is read.
 */
export function useRunCalls(run: RunDetails): RunCalls {
  const organization = useOrganization();
  const queries = useQueryClient();
  const mayRead = organization.may('MONITORING_LOGS_LIST');
  const queryKey = toolKey(organization.slug, 'MONITORING_LOGS_LIST', { run: run.id });
  const { data, isError, refetch } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      let read = queries.getQueryData<Read>(queryKey);
      for await (read of readOn(organization, run, read, signal)) queries.setQueryData(queryKey, read);
      return read as Read;
    },
    enabled: mayRead,
  });
  useEffect(() => {
    if (mayRead) void refetch();
  }, [run, mayRead, refetch]);
  const calls = data?.calls ?? NO_CALLS;
  const isCut = data?.hasMore === true && calls.length === MAX_CALLS;
  return {
    calls,
    isComplete: data?.hasMore === false,
    isReading: mayRead && !isError && (data === undefined || (data.hasMore && !isCut)),
    missing: missingCalls({ mayRead, isError, isCut }),
  };
}

/** Reads what was not known before, page by page. Yields what is known then. */
async function* readOn(
  { client }: Organization,
  run: RunDetails,
  before: Read | undefined,
  signal: AbortSignal,
): AsyncGenerator<Read> {
  const knownUntil = before?.knownUntil ?? Date.parse(run.created_at);
  const end = run.finished_at === null ? undefined : Date.parse(run.finished_at);
  const input = {
    where: recordsOfRun(run.id, knownUntil, end),
    orderBy: [{ field: ['at'], direction: 'asc' as const }],
    limit: PAGE_SIZE,
    count_limit: 1,
  };
  const found = new Map(before?.calls.map((call) => [call.id, call]));
  let cursor: string | null = null;
  do {
    const page: ToolOutput<'MONITORING_LOGS_LIST'> = await client.tool(
      'MONITORING_LOGS_LIST',
      { ...input, ...(cursor && { cursor }) },
      { signal },
    );
    for (const call of page.items) found.set(call.id, call);
    cursor = page.nextCursor;
    const calls = [...found.values()].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)).slice(0, MAX_CALLS);
    const hasMore = cursor !== null || found.size > MAX_CALLS;
    yield { calls, hasMore, knownUntil: hasMore ? knownUntil : stepBegin(run) };
  } while (cursor !== null && found.size < MAX_CALLS);
}

/** When the calls of the last known step began. Those of the steps before it have ended, so they are on record. */
function stepBegin({ created_at: created, model_calls: models }: RunDetails): number {
  return Math.max(Date.parse(created), ...models.map(({ started_at: at, duration_ms: ms }) => Date.parse(at) + ms));
}

function missingCalls({ mayRead, isError, isCut }: Readonly<Record<'mayRead' | 'isError' | 'isCut', boolean>>) {
  if (!mayRead) return NOT_PERMITTED;
  if (isError) return 'Not all tool calls could be read.';
  return isCut ? `Only the first ${formatNumber(MAX_CALLS)} calls are shown.` : undefined;
}
