import { Injectable } from '@nestjs/common';
import { RESERVED_OUTPUT_TOKENS } from '../../../agents/models/model-price.js';
import { DomainError } from '../../../core/domain-error.js';
import { newId } from '../../../core/ids.js';
import type { Tier } from '../../../core/tier.js';
import type { Turn } from '../../../platform/database/organization-locks.js';
import { functionCall, PreparedStatements } from '../../../platform/database/prepared-statements.js';
import type { NewRun, PostedRun } from './new-run.js';
import { refuseSpending, type SpendRefusal } from './spend-refusal.js';
import { IDEMPOTENCY_HOURS, refuse, type Refusal, type RunRoom } from './run-posting.js';

const REGENERATE = 'run_regenerate';

/** A request to answer a question again. The tier is for a question whose own run is no longer stored. */
interface NewRegeneration extends Omit<NewRun, 'messages' | 'temperature' | 'tier'> {
  readonly tier: Tier;
  /** The answer or its question; undefined means the last question of the thread. */
  readonly messageId: string | undefined;
}

interface RegenerationRow {
  runId: string;
  refusal: SpendRefusal | null;
  outcome: 'posted' | 'repeated' | Refusal | SpendRefusal['code'] | 'thread_busy' | 'message_not_found' | 'superseded';
}

/**
 * Stores a run that answers a stored question again, and supersedes the earlier answer with everything after it, in one
 * transaction: the function `run_regenerate`.
 */
@Injectable()
export class RunRegeneration {
  constructor(private readonly statements: PreparedStatements) {}

  /**
   * @throws DomainError `thread_not_found`, `thread_busy`, `message_not_found`, `superseded`, `idempotency_conflict`,
   *   `too_many_runs`, `spend_limit_reached`, `price_missing`
   */
  async postAgain(request: NewRegeneration, room?: RunRoom): Promise<PostedRun> {
    const { call, values } = functionCall(REGENERATE, {
      _run: newId(),
      _organization: request.organizationId,
      _thread: request.threadId,
      _message: request.messageId ?? null,
      _agent: request.agentId,
      _user: request.userId,
      _api_key: request.apiKeyId,
      _grant: request.grantId,
      _request: request.requestId,
      _default_tier: request.tier,
      _answer: newId(),
      _key: request.idempotency?.key ?? null,
      _hash: request.idempotency?.hash ?? null,
      _key_hours: IDEMPOTENCY_HOURS,
      _room_waiting: room?.waiting ?? null,
      _room_concurrent: room?.concurrent ?? null,
      _traceparent: request.trace?.traceparent ?? null,
      _tracestate: request.trace?.tracestate ?? null,
      _output_tokens: RESERVED_OUTPUT_TOKENS,
    });
    const text = `SELECT _outcome AS outcome, _run AS "runId", _refusal AS refusal FROM ${call}`;
    const turn: Turn = [request.organizationId, request.threadId];
    const [row] = await this.statements.rowsInTurn<RegenerationRow>(turn, { name: REGENERATE, text }, values);
    if (row === undefined) throw new Error('run_regenerate returned no row.');
    const { outcome, runId, refusal } = row;
    if (refusal !== null) throw refuseSpending(refusal);
    switch (outcome) {
      case 'posted':
        return { runId, isHead: true, isRepeated: false };
      case 'repeated':
        return { runId, isHead: false, isRepeated: true };
      case 'thread_busy':
        throw new DomainError(
          outcome,
          'A run of this thread is queued, running or waiting for an approval. Wait for its end, or cancel it.',
        );
      case 'message_not_found':
        throw new DomainError(outcome, 'The thread has no such question or answer.');
      case 'superseded':
        throw new DomainError(outcome, 'A later answer has superseded this message.');
      default:
        throw refuse(outcome as Refusal, room);
    }
  }
}
