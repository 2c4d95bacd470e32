import { Injectable } from '@nestjs/common';
import type { UIMessage } from 'ai';
import { DataSource, type EntityManager } from 'typeorm';
import { CALLER_ID, newId } from '../../../core/ids.js';
import { DEFAULT_TIER } from '../../../core/tier.js';
import { transactionInTurn } from '../../../platform/database/organization-locks.js';
import { functionCall } from '../../../platform/database/prepared-statements.js';
import type { NewRun } from './new-run.js';
import { type AnswerState, type RunClaim, StaleAttemptError } from './run-attempt.js';
import { answerValues, SAVE_ANSWER, type SavedAnswer } from './run-execution.js';
import { IDEMPOTENCY_HOURS, MAX_WAITING_RUNS, type Refusal, refuse, withStorageErrors } from './run-posting.js';

/** A steer that was stored: its run, and the run that it becomes if that one ends first. */
export interface StoredSteer {
  readonly steerId: string;
  readonly runId: string;
  /** False if it has become a run of its own since an earlier request with the same idempotency key. */
  readonly steered: boolean;
  readonly isRepeated: boolean;
}

/** A message of a steer that its run has taken. */
export interface SteerMessage {
  readonly steerId: string;
  readonly interrupts: boolean;
  /** Of the message. */
  readonly id: string;
  readonly role: 'system' | 'user';
  readonly parts: UIMessage['parts'];
}

interface SteerRow {
  outcome: 'steered' | 'repeated' | 'no_run' | Refusal;
  steerId: string;
  runId: string;
  steered: boolean;
}

/** Of the messages that steer one run: each of its model calls gets all of them. */
const MAX_STEER_BYTES = 2 * 1024 * 1024;

const STEER = 'run_steer';
const STEERED = '_outcome AS outcome, _steer AS "steerId", _run AS "runId", _steered AS steered';

// Under the lock that `SAVE_ANSWER` holds. A run that was asked to stop takes no more.
const TAKE = `UPDATE runs SET steers_taken = steers WHERE id = $1 AND cancel_requested_at IS NULL`;

const TAKEN = `
  SELECT steer.id AS "steerId", steer.interrupts, message.id, message.role, message.parts
    FROM runs JOIN run_steers steer ON steer.run_id = runs.id AND steer.number <= runs.steers_taken
    CROSS JOIN LATERAL run_steer_ordinal(steer.number) AS first
    JOIN messages message ON message.organization_id = runs.organization_id AND message.thread_id = runs.thread_id
     AND message.run_position = runs.position AND message.ordinal BETWEEN first + 1 AND first + 1000
   WHERE runs.id = $1 ORDER BY message.ordinal`;

/**
 * The messages that are added to runs under way. Each is taken by its run, or becomes a run of its own when the run
 * ends without it: the functions `run_steer` and `run_finish` decide it under the thread's lock.
 */
@Injectable()
export class RunSteering {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Stores the messages for the first open run of the thread; undefined if none is open, or it was asked to stop.
   * @param interrupts ends the step that is in progress
   * @param record runs in the transaction that stores them
   * @throws what `RunPosting.postRun` throws
   */
  async steer(
    request: NewRun,
    interrupts: boolean,
    record: (stored: StoredSteer, manager: EntityManager) => Promise<void>,
  ): Promise<StoredSteer | undefined> {
    // No thread has any other id, and PostgreSQL rejects some texts.
    if (!CALLER_ID.test(request.threadId)) throw refuse('thread_not_found');
    const { call, values } = functionCall(STEER, {
      _steer: newId(),
      _organization: request.organizationId,
      _thread: request.threadId,
      _agent: request.agentId,
      _user: request.userId,
      _api_key: request.apiKeyId,
      _grant: request.grantId,
      _request: request.requestId,
      _default_tier: DEFAULT_TIER,
      _messages: JSON.stringify(request.messages),
      _interrupts: interrupts,
      _key: request.idempotency?.key ?? null,
      _hash: request.idempotency?.hash ?? null,
      _key_hours: IDEMPOTENCY_HOURS,
      _max_waiting: MAX_WAITING_RUNS,
      _max_bytes: MAX_STEER_BYTES,
      _traceparent: request.trace?.traceparent ?? null,
      _tracestate: request.trace?.tracestate ?? null,
    });
    const text = `SELECT ${STEERED} FROM ${call}`;
    const { outcome, ...row } = await withStorageErrors(() =>
      transactionInTurn(this.dataSource.manager, [request.organizationId, request.threadId], async (manager) => {
        const [found]: SteerRow[] = await manager.query(text, values);
        if (found === undefined) throw new Error('run_steer returned no row.');
        if (found.outcome === 'steered') await record({ ...found, isRepeated: false }, manager);
        return found;
      }),
    );
    if (outcome === 'no_run') return undefined;
    if (outcome === 'steered' || outcome === 'repeated') return { ...row, isRepeated: outcome === 'repeated' };
    throw refuse(outcome);
  }

  /**
   * Stores the answer so far, and takes what waits, in one transaction: from then on it belongs to the run. The call
   * can be repeated.
   * @throws StaleAttemptError
   */
  take(claim: RunClaim, model: string | null, answer: AnswerState): Promise<SavedAnswer> {
    return this.dataSource.transaction(async (manager) => {
      const [saved]: SavedAnswer[] = await manager.query(SAVE_ANSWER.text, answerValues(claim, model, answer));
      if (saved === undefined) throw new StaleAttemptError(claim);
      if (saved.hasSteers) await manager.query(TAKE, [claim.runId]);
      return { ...saved, hasSteers: false };
    });
  }

  /** The messages that the run has taken, in their order. */
  findTaken(runId: string): Promise<SteerMessage[]> {
    return this.dataSource.query(TAKEN, [runId]);
  }
}
