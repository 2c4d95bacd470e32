import type { ListSearch, ListSpec } from '../../core/paging/list-spec.js';
import { METADATA_KEY } from '../../core/validation/is-metadata.js';
import { messagesWith } from './message-texts.js';
import { THREAD_STATUSES, type ThreadEntity } from './thread.entity.js';
import { DomainError } from '../../core/domain-error.js';
import { hasConditionOn } from '../../core/paging/covers-all-rows.js';
import type { ListInput } from '../../core/paging/list-input.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';

/** The list of threads. Its query has the parameter `organizationId`. */
export const THREAD_LIST: ListSpec = {
  name: 'threads',
  fields: {
    id: { column: 'thread.id', type: 'string' },
    title: { column: 'thread.title', type: 'string' },
    virtual_mcp_id: { column: 'thread.virtualMcpId', type: 'uuid' },
    status: { column: 'thread.status', type: 'enum', values: THREAD_STATUSES },
    created_by: { column: 'thread.createdBy', type: 'uuid', nullable: true },
    cost_usd: {
      column: 'thread.costUsd',
      type: 'number',
      nullable: true,
      order: { sql: 'coalesce(thread.costUsd, 0)', valueOf: ({ costUsd }: ThreadEntity) => costUsd ?? 0 },
    },
    total_tokens: { column: 'thread.totalTokens', type: 'integer' },
    duration_ms: { column: 'thread.durationMs', type: 'integer' },
    created_at: { column: 'thread.createdAt', type: 'date' },
    updated_at: { column: 'thread.updatedAt', type: 'date' },
  },
  maps: { metadata: { column: 'thread.metadata', key: METADATA_KEY } },
  searches: {
    text: {
      operator: 'matches',
      type: 'string',
      condition: (text) => `thread.id IN (
        ${messagesWith('message.thread_id', text)} AND message.superseded_by IS NULL
        UNION SELECT titled.id FROM threads titled WHERE titled.organization_id = :organizationId
          AND text_words(titled.organization_id, titled.title) @@ search_words(:organizationId, ${text}))`,
    },
    tool: { operator: 'eq', type: 'string', condition: (tool) => `thread.tools @> ARRAY[CAST(${tool} AS text)]` },
    model: withRun('string', (model) => `run.model = ${model}`),
    error_code: withRun('string', (code) => `run.status = 'failed' AND run.error ->> 'code' = ${code}`),
    user_id: withRun('uuid', (id) => `run.user_id = ${id}`),
    api_key_id: withRun('uuid', (id) => `run.api_key_id = ${id}`),
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};

/** The searches that tell what messages contain. */
export const THREAD_TEXTS = ['text'];

/** Threads that have a run which meets the condition. */
function withRun(type: ListSearch['type'], condition: ListSearch['condition']): ListSearch {
  return {
    operator: 'eq',
    type,
    condition: (value) =>
      `thread.id IN (SELECT run.thread_id FROM runs run
        WHERE run.organization_id = :organizationId AND ${condition(value)})`,
  };
}

/** The management tools that show what runs cost and who posted them. What else tells it requires one of them. */
const SHOW_RUNS = ['RUN_LIST', 'USAGE_STATS'];

/** The fields of the list of threads that tell it of the runs of a thread. */
const OF_RUNS: readonly string[] = ['cost_usd', 'user_id', 'api_key_id'];

/** Whether the caller is allowed to know what runs cost and who posted them. */
export function seesCosts({ permissions }: Principal): boolean {
  return SHOW_RUNS.some((tool) => allows(permissions, SELF, tool));
}

/**
 * Checks that a caller who filters or orders threads by what their runs cost, or by who posted them, may know that.
 * @throws DomainError `permission_denied`
 */
export function requireVisibleCosts(caller: Principal, { where, orderBy }: Pick<ListInput, 'where' | 'orderBy'>): void {
  if (seesCosts(caller)) return;
  const isOrdered = orderBy?.some(({ field }) => field.some((name) => OF_RUNS.includes(name))) ?? false;
  if (!isOrdered && !hasConditionOn(where, OF_RUNS)) return;
  throw new DomainError('permission_denied', `${OF_RUNS.join(', ')} of threads require ${SHOW_RUNS.join(' or ')}.`);
}
