import type { ListSearch, ListSpec } from '../../core/paging/list-spec.js';
import { METADATA_KEY } from '../../core/validation/is-metadata.js';
import { messagesWith } from './message-search.js';
import { THREAD_STATUSES, type ThreadEntity } from './thread.entity.js';

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
