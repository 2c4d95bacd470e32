import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { toolQuery } from '../api/queries.js';
import { isUuid, timeOfUuid } from '../api/uuid.js';
import { type Organization, useOrganization } from '../session/organization.js';
import type { CallFacts } from '../transcript/call-facts.js';
import { type ChatMessage, isOver, type ToolPart } from '../transcript/message.js';
import { callSpans } from './call-spans.js';
import { CLOCKS_DIFFER_MS, recordsOfRun } from './records-of-run.js';
import type { CallRecord } from './span.js';
import { agentOf, isOutOfReach, originsOf, type ToolOrigins } from './tool-origins.js';

/** Of an answer with more calls, the first have their facts in the chat, and all have them in its trace. */
const MAX_CALLS = 1_000;
const MAX_RUNS = 100;

type FactsByCall = ReadonlyMap<string, CallFacts>;
const NONE: FactsByCall = new Map();

interface ReadFacts {
  /** As far as they are known. */
  readonly facts: FactsByCall;
  /** Whether they could not be read. */
  readonly isError: boolean;
  readonly isReading: boolean;
  /** Reads them again. */
  readonly retry: () => void;
}

/**
 * What the tool calls of an answer took, once it is over. An answer is read once: with one request, and others for the
 * agent whose names its tools have, and for the runs of agents that it has called.
 * @param isWanted false waits with the request
 */
export function useCallFacts(message: ChatMessage, isWanted: boolean): ReadFacts {
  const organization = useOrganization();
  const queries = useQueryClient();
  const runId = message.role === 'assistant' ? (message.metadata?.taskId ?? '') : '';
  const hasCalls = message.parts.some(({ type }) => type === 'dynamic-tool');
  const { data, errorUpdateCount, isFetching, refetch } = useQuery({
    queryKey: [organization.slug, 'call-facts', runId],
    queryFn: ({ signal }) => readFacts(organization, queries, message, signal),
    enabled: isWanted && runId !== '' && hasCalls && isOver(message) && organization.may('MONITORING_LOGS_LIST'),
    staleTime: Infinity,
  });
  // It stays an error while it is read again.
  const isError = data === undefined && errorUpdateCount > 0;
  return { facts: data ?? NONE, isError, isReading: isFetching, retry: () => void refetch() };
}

/** A call with its record. */
interface RecordedCall {
  readonly part: ToolPart;
  readonly record: CallRecord;
}

async function readFacts(
  organization: Organization,
  queries: QueryClient,
  { parts, metadata }: ChatMessage,
  signal: AbortSignal,
): Promise<FactsByCall> {
  const runId = metadata?.taskId ?? '';
  const end = metadata?.storedAt === undefined ? undefined : Date.parse(metadata.storedAt);
  const { items } = await organization.client.tool(
    'MONITORING_LOGS_LIST',
    {
      where: recordsOfRun(runId, timeOfUuid(runId) ?? 0, end),
      orderBy: [{ field: ['at'], direction: 'asc' }],
      limit: MAX_CALLS,
      count_limit: 1,
    },
    { signal },
  );
  const origins = await readOrigins(organization, queries, items);
  const calls = callSpans(items, parts, origins).flatMap(({ part, toolCall: record }) =>
    part === undefined || record === undefined ? [] : [{ part, record }],
  );
  const costs = await costsOf(organization, calls, signal);
  return new Map(
    calls.map(({ part: { toolCallId }, record: { duration_ms: durationMs } }) => {
      const costUsd = costs.get(toolCallId);
      return [toolCallId, { durationMs, ...(costUsd !== undefined && { costUsd }) }];
    }),
  );
}

/** Of the tools of the agent that made the calls, which all answers of a chat have in common. */
async function readOrigins(
  organization: Organization,
  queries: QueryClient,
  calls: readonly CallRecord[],
): Promise<ToolOrigins> {
  const id = agentOf(calls);
  if (id === undefined || !organization.may('COLLECTION_VIRTUAL_MCP_GET')) return originsOf(undefined);
  const query = toolQuery(organization, 'COLLECTION_VIRTUAL_MCP_GET', { id });
  try {
    return originsOf(await queries.fetchQuery(query));
  } catch (error) {
    if (isOutOfReach(error)) return originsOf(undefined);
    throw error;
  }
}

/** The costs of the runs that calls have made. */
async function costsOf(
  { client, may }: Organization,
  calls: readonly RecordedCall[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const asked = calls.filter(({ part }) => askedRunOf(part) !== undefined).slice(0, MAX_RUNS);
  if (asked.length === 0 || !may('RUN_LIST')) return new Map();
  const where = { field: ['id'], operator: 'in', value: asked.map(({ part }) => askedRunOf(part)) };
  const { items } = await client.tool('RUN_LIST', { where, limit: MAX_RUNS, count_limit: 1 }, { signal });
  return new Map(
    asked.flatMap(({ part, record }) => {
      const run = items.find(({ id, created_at: at }) => id === askedRunOf(part) && isDuring(at, record));
      return run === undefined || run.cost_usd === null ? [] : [[part.toolCallId, run.cost_usd] as const];
    }),
  );
}

/** The run that a call of an agent's tool `ask` has made, as its result says. */
function askedRunOf({ output }: ToolPart): string | undefined {
  const { _meta: meta } = (output ?? {}) as { readonly _meta?: Readonly<Record<string, unknown>> | null };
  const { task_id: id } = (meta?.['mcp.service'] ?? {}) as { readonly task_id?: unknown };
  return isUuid(id) ? id : undefined;
}

/** Any server can name a run in its result, but hardly one that was created while it was called. */
function isDuring(time: string, { at, duration_ms: duration }: CallRecord): boolean {
  const after = Date.parse(time) - Date.parse(at);
  return after >= -CLOCKS_DIFFER_MS && after <= duration + CLOCKS_DIFFER_MS;
}
