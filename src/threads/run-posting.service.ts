import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { DomainError } from '../common/domain-error.js';
import { newId } from '../common/ids.js';
import type { NewMessage, NewRun, PostedRun } from './new-run.js';

const MAX_WAITING_RUNS = 100;
const IDEMPOTENCY_HOURS = 24;
const UNIQUE_VIOLATION = '23505';

/** Stores a run request: its messages, its run and the thread's new status, in one transaction. */
@Injectable()
export class RunPostingService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * @throws DomainError `thread_not_found`, `agent_mismatch`, `idempotency_conflict`, `too_many_runs`, or `conflict` for a message id
   *   that the thread already holds
   */
  async post(request: NewRun): Promise<PostedRun> {
    return this.dataSource.transaction(async (manager) => {
      await lockThread(manager, request);
      const earlier = await findEarlier(manager, request);
      if (earlier !== undefined) return { runId: earlier, isHead: false };
      return insertRun(manager, request);
    });
  }
}

/** Takes the thread's row lock, so that requests of one thread are served one after the other. */
async function lockThread(manager: EntityManager, request: NewRun): Promise<void> {
  const rows: { agentId: string }[] = await manager.query(
    `SELECT virtual_mcp_id AS "agentId" FROM threads WHERE organization_id = $1 AND id = $2 FOR UPDATE`,
    [request.organizationId, request.threadId],
  );
  const thread = rows[0];
  if (thread === undefined)
    throw new DomainError('thread_not_found', 'There is no thread with this id in the organization.');
  if (thread.agentId !== request.agentId) {
    throw new DomainError('agent_mismatch', 'agent.id must be the agent that the thread was created for.', [
      { path: 'agent.id', code: 'agent_mismatch', message: 'This is not the agent of the thread.' },
    ]);
  }
}

async function findEarlier(manager: EntityManager, request: NewRun): Promise<string | undefined> {
  if (request.idempotency === undefined) return undefined;
  const thread = [request.organizationId, request.threadId, request.idempotency.key];
  await manager.query(
    `UPDATE runs SET idempotency_key = NULL, idempotency_hash = NULL
      WHERE organization_id = $1 AND thread_id = $2 AND idempotency_key = $3
        AND created_at < now() - make_interval(hours => ${IDEMPOTENCY_HOURS})`,
    thread,
  );
  const rows: { id: string; hash: string }[] = await manager.query(
    `SELECT id, idempotency_hash AS hash FROM runs WHERE organization_id = $1 AND thread_id = $2 AND idempotency_key = $3`,
    thread,
  );
  const earlier = rows[0];
  if (earlier !== undefined && earlier.hash !== request.idempotency.hash) {
    throw new DomainError('idempotency_conflict', 'This Idempotency-Key was used on this thread with another body.');
  }
  return earlier?.id;
}

// One statement, because each costs a round trip while the thread is locked. It sees every run that was posted before: the lock
// was taken by a statement of its own.
const INSERT = `
  WITH open AS (
    SELECT count(*) AS total, count(*) FILTER (WHERE status = 'queued') AS waiting FROM runs
     WHERE organization_id = $1 AND thread_id = $2 AND status IN ('queued', 'running')
  ), run AS (
    INSERT INTO runs (id, organization_id, thread_id, agent_id, user_id, api_key_id, request_id, status, tier, temperature,
                      message_id, idempotency_key, idempotency_hash)
    SELECT $3::uuid, $1::uuid, $2, $4::uuid, $5::uuid, $6::uuid, $7, 'queued', $8, $9::float8, $10, $11, $12
      FROM open WHERE waiting < ${MAX_WAITING_RUNS}
    RETURNING *
  ), request_messages AS (
    INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts, metadata)
    SELECT run.organization_id, run.thread_id, item->>'id', run.id, run.position, ordinal, item->>'role', item->'parts',
           json_build_object('taskId', run.id)
      FROM run, json_array_elements($13::json) WITH ORDINALITY AS list (item, ordinal)
  ), thread AS (
    UPDATE threads SET status = 'in_progress', updated_at = now()
      FROM run WHERE threads.organization_id = run.organization_id AND threads.id = run.thread_id
  )
  SELECT run.id AS "runId", open.total = 0 AS "isHead" FROM open, run`;

async function insertRun(manager: EntityManager, request: NewRun): Promise<PostedRun> {
  const messages = request.messages.map(({ id, role, parts }: NewMessage) => ({ id, role, parts }));
  try {
    const rows: PostedRun[] = await manager.query(INSERT, [
      request.organizationId,
      request.threadId,
      newId(),
      request.agentId,
      request.userId,
      request.apiKeyId,
      request.requestId,
      request.tier,
      request.temperature,
      newId(),
      request.idempotency?.key ?? null,
      request.idempotency?.hash ?? null,
      JSON.stringify(messages),
    ]);
    const posted = rows[0];
    if (posted === undefined) {
      throw new DomainError('too_many_runs', `At most ${MAX_WAITING_RUNS} runs may wait on one thread.`);
    }
    return posted;
  } catch (error) {
    // The run's own ids are new and the thread is locked: only a message's id can be taken.
    if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
    throw new DomainError('conflict', 'The thread already holds a message with this id.', [
      { path: 'messages', code: 'message_exists', message: 'A message id can be used once in a thread.' },
    ]);
  }
}
