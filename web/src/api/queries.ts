import {
  keepPreviousData,
  QueryCache,
  MutationCache,
  QueryClient,
  type QueryKey,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { ListItem, ListToolName, ToolInput, ToolName, ToolOutput } from '../../../packages/client/src/api.js';
import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import { type Organization, useOrganization } from '../session/organization.js';
import { isServiceAway } from '../session/reachability.js';
import { reportSignedOut } from '../session/signed-out.js';
import { useToast } from '../ui/toast.js';

/** Statuses that another attempt does not change. */
const FINAL = new Set([400, 401, 403, 404, 409, 410, 422]);
const LONGEST_RETRY_DELAY_MS = 5_000;

/**
 * Keeps what was read; refreshed when the window gets the focus, and by changes that the service reports (`live.ts`).
 */
export function createQueryClient(): QueryClient {
  const onError = (error: Error): void => {
    if (error instanceof SignalboxError && (error.status === 401 || error.code === 'csrf_invalid')) reportSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // Goes on until the service is back: meanwhile a view keeps what it has.
        retry: (count, error) =>
          isServiceAway() || (count < 2 && !(error instanceof SignalboxError && FINAL.has(error.status))),
        retryDelay: (count) => Math.min(1_000 * 2 ** count, LONGEST_RETRY_DELAY_MS),
      },
    },
  });
}

/** The cached answers of a tool; with `input`, that of one request. */
export function toolKey(org: string, name: ToolName, input?: unknown): QueryKey {
  return input === undefined ? [org, name] : [org, name, input];
}

/** The cached results of runs; with `taskId`, that of one. */
export function resultKey(org: string, taskId?: string): QueryKey {
  return [org, 'run-result', ...(taskId === undefined ? [] : [taskId])];
}

/** The query of a management tool that reads, for `useQueries` and `fetchQuery`; `useTool` is the hook for one. */
export function toolQuery<Name extends ToolName>(
  { client, slug }: Pick<Organization, 'client' | 'slug'>,
  name: Name,
  input: ToolInput<Name>,
) {
  return queryOptions<ToolOutput<Name>>({
    queryKey: toolKey(slug, name, input),
    queryFn: ({ signal }) => client.tool(name, input, { signal }),
  });
}

interface ReadOptions {
  /** Waits with the request until this is true. */
  readonly isEnabled?: boolean;
}

interface RefreshOptions<Answer> extends ReadOptions {
  /** For what no change announces: reads again after so many milliseconds, by the answer and how often it was read. */
  readonly refreshMs?: number | false | ((answer: Answer | undefined, reads: number) => number | false);
}

/** Reads with a management tool. */
export function useTool<Name extends ToolName>(
  name: Name,
  input: ToolInput<Name>,
  { isEnabled = true, refreshMs = false }: RefreshOptions<ToolOutput<Name>> = {},
) {
  const organization = useOrganization();
  return useQuery<ToolOutput<Name>>({
    ...toolQuery(organization, name, input),
    enabled: isEnabled,
    placeholderData: keepPreviousData as never,
    refetchInterval:
      typeof refreshMs === 'function' ? ({ state }) => refreshMs(state.data, state.dataUpdateCount) : refreshMs,
  });
}

/**
 * Changes something with a management tool.
 * @param changes the tools whose cached answers are read again afterwards
 * @param onChanged called after that. Callbacks of `mutate` are not called in a form that what was stored has replaced.
 */
export function useChange<Name extends ToolName>(
  name: Name,
  changes: readonly ToolName[],
  onChanged?: (input: ToolInput<Name>) => void,
) {
  const { client, slug } = useOrganization();
  const queries = useQueryClient();
  const say = useToast();
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => void (isShown.current = false);
  }, []);
  return useMutation<ToolOutput<Name>, Error, ToolInput<Name>>({
    mutationFn: (input) => client.tool(name, input),
    onSuccess: async (_output, input) => {
      await Promise.all(changes.map((changed) => queries.invalidateQueries({ queryKey: toolKey(slug, changed) })));
      onChanged?.(input);
    },
    // The view that would show the error is gone.
    onError: (error) => {
      if (isShown.current) return;
      const what =
        error instanceof SignalboxError && error.status < 500
          ? 'A change was not made.'
          : 'A change may not have been made.';
      say(`${what} ${error.message}`);
    },
  });
}

/** The request of a list, without its position. */
interface ListRequest {
  readonly where?: Condition | undefined;
  readonly orderBy?: readonly { readonly field: string[]; readonly direction: 'asc' | 'desc' }[];
  readonly limit?: number;
  /** Stops counting after so many items, `COUNT_LIMIT` without it. */
  readonly count_limit?: number;
}

/** A condition of a list (`where`): a comparison of a field, or conditions joined. */
export type Condition =
  | {
      readonly field: readonly string[];
      readonly operator: 'eq' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'like' | 'contains' | 'matches';
      readonly value: unknown;
    }
  | { readonly operator: 'and' | 'or' | 'not'; readonly conditions: readonly Condition[] };

/** All of the conditions that are there; undefined for none. */
export function allOf(...conditions: readonly (Condition | undefined)[]): Condition | undefined {
  const present = conditions.filter((condition) => condition !== undefined);
  return present.length > 1 ? { operator: 'and', conditions: present } : present[0];
}

/** A condition for a filter that is set. */
export function equals(field: string, value: string | undefined): Condition | undefined {
  return value ? { field: [field], operator: 'eq', value } : undefined;
}

/** A condition for a text that one of the fields contains; undefined for no text. */
export function contains(text: string | undefined, ...fields: readonly string[]): Condition | undefined {
  if (!text) return undefined;
  const conditions = fields.map((field): Condition => ({ field: [field], operator: 'contains', value: text }));
  return conditions.length > 1 ? { operator: 'or', conditions } : conditions[0];
}

const PAGE_SIZE = 50;
/** A list counts at most so many items; with more, its `totalCount` is greater. */
const COUNT_LIMIT = 10_000;

/** Reads a list page by page. */
export function useList<Name extends ListToolName>(
  name: Name,
  request: ListRequest = {},
  { isEnabled = true }: ReadOptions = {},
) {
  const { client, slug } = useOrganization();
  const query = useInfiniteQuery({
    queryKey: toolKey(slug, name, request),
    queryFn: async ({ signal, pageParam }) => {
      const input = { limit: PAGE_SIZE, count_limit: COUNT_LIMIT, ...request, ...(pageParam && { cursor: pageParam }) };
      return (await client.tool(name, input as ToolInput<Name>, { signal })) as ListPage<ListItem<Name>>;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    enabled: isEnabled,
    placeholderData: keepPreviousData,
  });
  const totalCount = query.data?.pages[0]?.totalCount;
  return {
    query,
    rows: query.data?.pages.flatMap((page) => page.items) ?? [],
    totalCount,
    /** True if only `totalCount - 1` items were counted and there are more. */
    isCountCut: totalCount !== undefined && totalCount > (request.count_limit ?? COUNT_LIMIT),
  };
}

interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly totalCount: number;
  readonly nextCursor: string | null;
}
