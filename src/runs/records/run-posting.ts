import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DomainError } from '../../common/domain-error.js';
import { CALLER_ID, newId } from '../../common/ids.js';
import type { NewRun, PostedRun } from './new-run.js';
import { PreparedStatements } from '../../database/prepared-statements.js';

const MAX_WAITING_RUNS = 100;
/** How long an idempotency key is kept. */
export const IDEMPOTENCY_HOURS = 24;
const RETRY_AFTER_S = '5';
const UNIQUE_VIOLATION = '23505';

const POST = {
  name: 'run_post',
  text: `SELECT _outcome AS outcome, _run AS "runId", _is_head AS "isHead"
           FROM run_post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
};

// A thread without any room answers `too_many_runs`, after the checks that come first.
const POST_LIMITED = {
  name: 'run_post_limited',
  text: POST.text.replace('$15', 'CASE WHEN run_has_waiting_room($1, $19, $20) THEN $15::integer ELSE -1 END'),
};

/** The limits of an organization's open runs. */
export interface RunRoom {
  readonly waiting: number;
  readonly concurrent: number | undefined;
}

/** The row that `run_post` returns: the outcome of the request. */
interface PostRow extends Omit<PostedRun, 'isRepeated'> {
  outcome: 'posted' | 'repeated' | Refusal;
}

/** Why a request for a run is refused. */
export type Refusal = 'thread_not_found' | 'agent_mismatch' | 'idempotency_conflict' | 'too_many_runs';

/**
 * Stores a run request: its messages, its run and the thread's new status, in one transaction under the thread's row lock. The
 * lock gives the runs of a thread their order. The transaction is the function `run_post` (migrations 1763700000400 to 671).
 */
@Injectable()
export class RunPosting {
  constructor(private readonly statements: PreparedStatements) {}

  /**
   * @param room the organization's limits of open runs, if it has a limit of waiting ones
   * @param manager of the caller's transaction; without it, the request is a transaction of its own
   * @throws DomainError `thread_not_found`, `agent_mismatch`, `idempotency_conflict`, `too_many_runs`, or `conflict` for a message id
   *   that the thread already holds
   */
  async postRun(request: NewRun, room?: RunRoom, manager?: EntityManager): Promise<PostedRun> {
    // No thread has any other id, and PostgreSQL rejects some texts.
    if (!CALLER_ID.test(request.threadId)) throw refuse('thread_not_found');
    const { outcome, runId, isHead } = await this.store(request, room, manager);
    if (outcome === 'posted') return { runId, isHead, isRepeated: false };
    if (outcome === 'repeated') return { runId, isHead: false, isRepeated: true };
    throw refuse(outcome, room);
  }

  /** Records the schedule of a run, in the transaction that posts it. */
  async markScheduled(manager: EntityManager, runId: string, scheduleId: string): Promise<void> {
    await manager.query('UPDATE runs SET schedule_id = $2 WHERE id = $1', [runId, scheduleId]);
  }

  private async store(
    request: NewRun,
    room: RunRoom | undefined,
    manager: EntityManager | undefined,
  ): Promise<PostRow> {
    try {
      const statement = room === undefined ? POST : POST_LIMITED;
      const values = [
        request.organizationId,
        request.threadId,
        request.agentId,
        request.userId,
        request.apiKeyId,
        request.grantId,
        request.requestId,
        request.tier,
        request.temperature,
        JSON.stringify(request.messages),
        newId(),
        request.idempotency?.key ?? null,
        request.idempotency?.hash ?? null,
        IDEMPOTENCY_HOURS,
        MAX_WAITING_RUNS,
        request.trace?.traceparent ?? null,
        request.trace?.tracestate ?? null,
        newId(),
        ...(room === undefined ? [] : [room.waiting, room.concurrent ?? null]),
      ];
      const [row] =
        manager === undefined
          ? await this.statements.rows<PostRow>(statement, values)
          : ((await manager.query(statement.text, values)) as PostRow[]);
      if (row === undefined) throw new Error('run_post returned no row.');
      return row;
    } catch (error) {
      if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
      throw new DomainError('conflict', 'The thread already has a message with this id.', [
        { path: 'messages', code: 'message_exists', message: 'A message id must be unique within its thread.' },
      ]);
    }
  }
}

/** The error for a refused request. */
export function refuse(reason: Refusal, room?: RunRoom): DomainError {
  switch (reason) {
    case 'thread_not_found':
      return new DomainError(reason, 'There is no thread with this id in the organization.');
    case 'agent_mismatch':
      return new DomainError(reason, 'agent.id must be the agent that the thread was created for.', [
        { path: 'agent.id', code: reason, message: 'This is not the agent of the thread.' },
      ]);
    case 'idempotency_conflict':
      return new DomainError(reason, 'This Idempotency-Key was already used on this thread with a different body.');
    case 'too_many_runs':
      return new DomainError(
        reason,
        `At most ${MAX_WAITING_RUNS} runs can be queued on one thread` +
          (room === undefined ? '.' : `, and ${room.waiting} in the organization.`),
        [],
        { headers: { 'retry-after': RETRY_AFTER_S } },
      );
  }
}
