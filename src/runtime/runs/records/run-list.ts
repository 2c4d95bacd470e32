import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { ListSpec } from '../../../core/paging/list-spec.js';
import { METADATA_KEY } from '../../../core/validation/is-metadata.js';
import { LAST_REQUEST_ORDINAL } from '../../threads/message.entity.js';
import { messagesWith, readsMessages, questionAmong, questionBytes } from '../../threads/message-texts.js';
import { RUN_STATUSES } from '../../../core/run-status.js';
import type { RunEntity } from './run.entity.js';
import type { Principal } from '../../../core/principal.js';

/** SQL for the milliseconds of `runDuration`. */
export const RUN_DURATION = `(extract(epoch FROM run.finishedAt - run.startedAt) * 1000 - run.waitedMs)`;
/** Some providers count parts of tokens. */
const TOTAL_TOKENS = `CAST(run.usage ->> 'totalTokens' AS numeric)`;

/** How long the run has worked, without the time that it waited for approvals; null before its end. */
export function runDuration({ startedAt, finishedAt, waitedMs }: RunEntity): number | null {
  return startedAt === null || finishedAt === null ? null : finishedAt.getTime() - startedAt.getTime() - waitedMs;
}

/** The list of runs. Its query has the parameter `organizationId`. */
export const RUN_LIST: ListSpec = {
  name: 'runs',
  fields: {
    id: { column: 'run.id', type: 'uuid' },
    thread_id: { column: 'run.threadId', type: 'string' },
    agent_id: { column: 'run.agentId', type: 'uuid' },
    user_id: { column: 'run.userId', type: 'uuid', nullable: true },
    api_key_id: { column: 'run.apiKeyId', type: 'uuid', nullable: true },
    schedule_id: { column: 'run.scheduleId', type: 'uuid', nullable: true },
    model: { column: 'run.model', type: 'string', nullable: true },
    error_code: { column: "(run.error ->> 'code')", type: 'string', nullable: true },
    cost_usd: {
      column: 'run.costUsd',
      type: 'number',
      nullable: true,
      order: { sql: 'coalesce(run.costUsd, 0)', valueOf: ({ costUsd }: RunEntity) => costUsd ?? 0 },
    },
    total_tokens: {
      column: TOTAL_TOKENS,
      type: 'number',
      nullable: true,
      order: { sql: `coalesce(${TOTAL_TOKENS}, 0)`, valueOf: ({ usage }: RunEntity) => usage?.totalTokens ?? 0 },
    },
    duration_ms: {
      column: RUN_DURATION,
      type: 'number',
      nullable: true,
      order: { sql: `coalesce(${RUN_DURATION}, 0)`, valueOf: (run: RunEntity) => runDuration(run) ?? 0 },
    },
    status: { column: 'run.status', type: 'enum', values: RUN_STATUSES },
    tier: { column: 'run.tier', type: 'string' },
    attempt: { column: 'run.attempt', type: 'number' },
    created_at: { column: 'run.createdAt', type: 'date' },
    updated_at: { column: 'run.updatedAt', type: 'date' },
  },
  maps: { metadata: { column: 'run.metadata', key: METADATA_KEY } },
  searches: {
    question: {
      operator: 'matches',
      type: 'string',
      condition: (text) => `(run.threadId, coalesce(run.questionPosition, run.position)) IN (
        ${messagesWith('message.thread_id, message.run_position', text)}
          AND message.role = 'user' AND message.ordinal <= ${LAST_REQUEST_ORDINAL})`,
    },
    tool: { operator: 'eq', type: 'string', condition: (tool) => `run.tools @> ARRAY[CAST(${tool} AS text)]` },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};

/** The searches that tell what messages contain. */
export const RUN_TEXTS = ['question'];

const ASKED = `message.organization_id = run.organization_id AND message.thread_id = run.thread_id
  AND message.run_position = coalesce(run.question_position, run.position) AND message.ordinal <= ${LAST_REQUEST_ORDINAL}`;

const QUESTIONS = `
  SELECT run.id, ${questionAmong(ASKED, '$3')} AS question
    FROM runs run WHERE run.organization_id = $1 AND run.id = ANY($2::uuid[])`;

/** Finds what runs answer: the beginnings of the messages that people wrote. */
@Injectable()
export class RunQuestions {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * The questions of these runs by their ids, for a caller who may read messages; empty for anybody else. A run has
   * none if its message has no text, is no longer stored, or is too long for a page of so many runs.
   */
  async find(caller: Principal, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0 || !readsMessages(caller)) return new Map();
    const rows = await this.dataSource.query<{ id: string; question: string | null }[]>(QUESTIONS, [
      caller.organization.id,
      ids,
      questionBytes(ids.length),
    ]);
    return new Map(rows.flatMap(({ id, question }) => (question === null ? [] : [[id, question]])));
  }
}
