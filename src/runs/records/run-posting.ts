import { Injectable } from '@nestjs/common';
import { DomainError } from '../../common/domain-error.js';
import { CALLER_ID, newId } from '../../common/ids.js';
import type { NewRun, PostedRun } from './new-run.js';
import { PreparedStatements } from '../../database/prepared-statements.js';

const MAX_WAITING_RUNS = 100;
const IDEMPOTENCY_HOURS = 24;
const UNIQUE_VIOLATION = '23505';

const POST = {
  name: 'run_post',
  text: `SELECT _outcome AS outcome, _run AS "runId", _is_head AS "isHead"
           FROM run_post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
};

/** The row that `run_post` returns: the outcome of the request. */
interface PostRow extends PostedRun {
  outcome: 'posted' | 'repeated' | Refusal;
}

type Refusal = 'thread_not_found' | 'agent_mismatch' | 'idempotency_conflict' | 'too_many_runs';

/**
 * Stores a run request: its messages, its run and the thread's new status, in one transaction under the thread's row lock. The
 * lock gives the runs of a thread their order. The transaction is the function `run_post` (migrations 1763700000400 to 601).
 */
@Injectable()
export class RunPosting {
  constructor(private readonly statements: PreparedStatements) {}

  /**
   * @throws DomainError `thread_not_found`, `agent_mismatch`, `idempotency_conflict`, `too_many_runs`, or `conflict` for a message id
   *   that the thread already holds
   */
  async postRun(request: NewRun): Promise<PostedRun> {
    // No thread has any other id, and PostgreSQL rejects some texts.
    if (!CALLER_ID.test(request.threadId)) throw refuse('thread_not_found');
    const { outcome, runId, isHead } = await this.store(request);
    if (outcome === 'posted') return { runId, isHead };
    if (outcome === 'repeated') return { runId, isHead: false };
    throw refuse(outcome);
  }

  private async store(request: NewRun): Promise<PostRow> {
    try {
      const [row] = await this.statements.rows<PostRow>(POST, [
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
      ]);
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

function refuse(reason: Refusal): DomainError {
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
      return new DomainError(reason, `At most ${MAX_WAITING_RUNS} runs can be queued on one thread.`);
  }
}
