import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { RESERVED_OUTPUT_TOKENS, tokensOfBytes } from '../../../agents/models/model-price.js';
import { AppConfig } from '../../../core/config/app-config.js';
import { DomainError } from '../../../core/domain-error.js';
import { DEFAULT_TIER, type Tier } from '../../../core/tier.js';
import { CALLER_ID, newId } from '../../../core/ids.js';
import { type ClaimedRun, type NewRun, type PostedRun, RUN_COLUMNS, THREAD_CREATED_AT } from './new-run.js';
import { HAS_LOST_CREDENTIAL } from './lost-credential.js';
import { refuseSpending, type SpendRefusal } from './run-spending.js';
import type { Turn } from '../../../platform/database/organization-locks.js';
import { functionCall, PreparedStatements } from '../../../platform/database/prepared-statements.js';

/** The runs that can be queued on one thread, with what steers a run and was not taken. */
export const MAX_WAITING_RUNS = 100;
/** How long an idempotency key is kept. */
export const IDEMPOTENCY_HOURS = 24;
const RETRY_AFTER_S = '5';
const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const NAMED_FILE = 'message_files_organization_id_file_id_fkey';

const POST = 'run_post_and_start';
const POSTED = `
  _outcome AS outcome, _run AS "runId", _is_head AS "isHead", _previous AS "previousId", _is_limited AS "isLimited",
  _has_spend_limit AS "hasSpendLimit", _refusal AS refusal, started.*`;
const STARTED = `
  LEFT JOIN LATERAL (
    SELECT ${RUN_COLUMNS}, ${HAS_LOST_CREDENTIAL} AS "hasLostCredential", ${THREAD_CREATED_AT} AS "threadCreatedAt"
      FROM (SELECT (posted._started).*) AS runs WHERE runs.id IS NOT NULL
  ) AS started ON true`;

/** The limits of an organization's open runs. */
export interface RunRoom {
  readonly waiting: number;
  readonly concurrent: number | undefined;
}

/** The row that `run_post_and_start` returns: the outcome of the request, and the run itself if it has started. */
type PostRow = {
  outcome: 'posted' | 'repeated' | Refusal | SpendRefusal['code'];
  runId: string;
  isHead: boolean;
  refusal: SpendRefusal | null;
} & (ClaimedRun | { [Column in keyof ClaimedRun]: null });

/** Why a request for a run is refused. */
export type Refusal =
  | 'thread_not_found'
  | 'agent_not_found'
  | 'agent_inactive'
  | 'agent_mismatch'
  | 'idempotency_conflict'
  | 'overtaken'
  | 'too_many_runs';

/** The run that a new one has to follow (`NewRun.follows`) is no longer the last one of its thread. */
export class OvertakenError extends DomainError {
  constructor() {
    super('conflict', 'The thread has gone on.');
  }
}

/** How a run is posted. */
interface PostOptions {
  /** The organization's limits of open runs, if it has a limit of waiting ones. */
  readonly room?: RunRoom | undefined;
  /**
   * Of the caller's transaction; without it, the request is a transaction of its own. Its first model call is then not
   * reserved: a run that cannot pay it is stored, and fails.
   */
  readonly manager?: EntityManager;
  /**
   * Starts the run with this epoch (`RunClaim`) if it is the first open run of its thread and its organization has
   * room.
   */
  readonly epoch?: string | undefined;
}

/**
 * Stores a run request: its messages, its run and the thread's new status, in one transaction under the thread's row
 * lock. The lock gives the runs of a thread their order. The transaction is the function `run_post_and_start`.
 */
@Injectable()
export class RunPosting {
  private readonly cap: number | null;

  constructor(
    private readonly statements: PreparedStatements,
    config: AppConfig,
  ) {
    this.cap = config.settings.organizationCaps.concurrent_runs ?? null;
  }

  /**
   * @throws DomainError `thread_not_found`, `agent_not_found`, `connection_unavailable`, `agent_mismatch`,
   *   `idempotency_conflict`, `too_many_runs`, `spend_limit_reached`, `price_missing`, `file_not_found`, or `conflict`
   *   for a message id that the thread already holds
   * @throws OvertakenError
   */
  async postRun(request: NewRun, options: PostOptions = {}): Promise<PostedRun> {
    // No thread has any other id, and PostgreSQL rejects some texts.
    if (!CALLER_ID.test(request.threadId)) throw refuse('thread_not_found');
    const { outcome, runId, isHead, refusal, ...started } = await this.store(request, options);
    if (outcome === 'posted') {
      return { runId, isHead, isRepeated: false, started: started.id === null ? undefined : started };
    }
    if (outcome === 'repeated') return { runId, isHead: false, isRepeated: true };
    throw refusal === null ? refuse(outcome as Refusal, options.room) : refuseSpending(refusal);
  }

  /** Records the schedule of a run, in the transaction that posts it. */
  async markScheduled(manager: EntityManager, runId: string, scheduleId: string): Promise<void> {
    await manager.query('UPDATE runs SET schedule_id = $2 WHERE id = $1', [runId, scheduleId]);
  }

  private async store(request: NewRun, { room, manager, epoch }: PostOptions): Promise<PostRow> {
    return withStorageErrors(async () => {
      const messages = JSON.stringify(request.messages);
      const { call, values } = functionCall(POST, {
        _run: newId(),
        _organization: request.organizationId,
        _thread: request.threadId,
        _agent: request.agentId,
        _user: request.userId,
        _api_key: request.apiKeyId,
        _grant: request.grantId,
        _request: request.requestId,
        _tier: request.tier,
        _default_tier: DEFAULT_TIER,
        _temperature: request.temperature,
        _messages: messages,
        _answer: newId(),
        _key: request.idempotency?.key ?? null,
        _hash: request.idempotency?.hash ?? null,
        _key_hours: IDEMPOTENCY_HOURS,
        _follows: request.follows ?? null,
        _metadata: request.metadata === undefined ? null : JSON.stringify(request.metadata),
        _max_waiting: MAX_WAITING_RUNS,
        _room_waiting: room?.waiting ?? null,
        _room_concurrent: room?.concurrent ?? null,
        _traceparent: request.trace?.traceparent ?? null,
        _tracestate: request.trace?.tracestate ?? null,
        _epoch: epoch ?? null,
        _cap: this.cap,
        _input_tokens: manager === undefined ? tokensOfBytes(Buffer.byteLength(messages)) : null,
        _output_tokens: RESERVED_OUTPUT_TOKENS,
      });
      const text = `SELECT ${POSTED} FROM ${call} AS posted ${STARTED}`;
      const turn: Turn = [request.organizationId, request.threadId];
      const [row] =
        manager === undefined
          ? await this.statements.rowsInTurn<PostRow>(turn, { name: POST, text }, values)
          : ((await manager.query(text, values)) as PostRow[]);
      if (row === undefined) throw new Error('run_post_and_start returned no row.');
      return row;
    });
  }
}

/**
 * Stores messages.
 * @throws DomainError `file_not_found`, or `conflict` for a message id that the thread already holds
 */
export async function withStorageErrors<T>(store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    const { code, constraint } = error as { code?: unknown; constraint?: unknown };
    if (code === FOREIGN_KEY_VIOLATION && constraint === NAMED_FILE) {
      throw new DomainError('file_not_found', 'A file of the message was deleted.');
    }
    if (code !== UNIQUE_VIOLATION) throw error;
    throw new DomainError('conflict', 'The thread already has a message with this id.', [
      { path: 'messages', code: 'message_exists', message: 'A message id must be unique within its thread.' },
    ]);
  }
}

/** The error for a refused request. */
export function refuse(reason: Refusal, room?: RunRoom): DomainError {
  switch (reason) {
    case 'thread_not_found':
      return new DomainError(reason, 'There is no thread with this id in the organization.');
    case 'agent_not_found':
      return new DomainError(reason, 'There is no agent with this id in the organization.', [
        { path: 'agent.id', code: reason, message: 'This agent does not exist.' },
      ]);
    case 'agent_inactive':
      return new DomainError('connection_unavailable', 'The agent is inactive.');
    case 'agent_mismatch':
      return new DomainError(reason, 'agent.id must be the agent that the thread was created for.', [
        { path: 'agent.id', code: reason, message: 'This is not the agent of the thread.' },
      ]);
    case 'idempotency_conflict':
      return new DomainError(reason, 'This Idempotency-Key was already used on this thread with a different body.');
    case 'overtaken':
      return new OvertakenError();
    case 'too_many_runs':
      return new DomainError(
        reason,
        `At most ${MAX_WAITING_RUNS} runs and messages can wait on one thread` +
          (room === undefined ? '.' : `, and ${room.waiting} in the organization.`),
        [],
        { headers: { 'retry-after': RETRY_AFTER_S } },
      );
  }
}

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
