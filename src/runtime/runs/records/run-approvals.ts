import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { HELD_PER_JSON_BYTE, type HeldAnswer } from '../../../core/answers/answer-budget.js';
import { newId } from '../../../core/ids.js';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import type { AnsweredApprovalItem, PendingApprovalItem } from './approval.dto.js';
import { CLOSE_APPROVALS, REASONS } from './approval-closing.js';
import { type AnswerState, type RunClaim, StaleAttemptError } from './run-attempt.js';
import type { ApprovalEnd, RunApprovalEntity } from './run-approval.entity.js';
import { answerValues, SAVE_ANSWER, type SavedAnswer } from './run-execution.js';

/** A tool call that is made only after somebody has approved it. */
export interface GatedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly target: ApprovedTarget;
  readonly input: unknown;
}

/** What the call reaches. The approval is for this. */
interface ApprovedTarget {
  readonly connectionId: string;
  /** The name of the tool at its upstream. */
  readonly upstreamName: string;
  readonly place: string;
  readonly definition: string | null;
}

/** An approval as an attempt sees it, without the input, which the answer has. */
export type ApprovalState = Pick<
  RunApprovalEntity,
  | 'id'
  | 'toolCallId'
  | 'connectionId'
  | 'targetPlace'
  | 'targetDefinition'
  | 'approved'
  | 'reason'
  | 'closedAt'
  | 'closedAs'
  | 'calledAt'
>;

const STATES = `
  SELECT id, tool_call_id AS "toolCallId", connection_id AS "connectionId", target_place AS "targetPlace",
         target_definition AS "targetDefinition", approved, reason, closed_at AS "closedAt", closed_as AS "closedAs",
         called_at AS "calledAt"
    FROM run_approvals WHERE run_id = $1 ORDER BY id`;

const CURRENT_ATTEMPT = "SELECT id FROM runs WHERE id = $1 AND attempt = $2 AND epoch = $3 AND status = 'running'";

const PENDING = 'FROM run_approvals WHERE run_id = ANY($1::uuid[]) AND closed_at IS NULL';
const PENDING_BYTES = {
  name: 'approvals_pending_bytes',
  text: `SELECT coalesce(sum(octet_length(input::text) + 512), 0)::float8 AS bytes ${PENDING}`,
};
const PENDING_ITEMS = {
  name: 'approvals_pending',
  text: `
    SELECT pending.*, connection.title AS connection_title, connection.connection_url AS url
      FROM (SELECT id, run_id AS "runId", tool_call_id, tool_name, upstream_tool, connection_id, input, requested_at,
                   expires_at
              ${PENDING}) pending
      LEFT JOIN connections connection ON connection.id = pending.connection_id
     ORDER BY pending.id`,
};
const ANSWERED = `
  SELECT id, tool_call_id, approved, reason, closed_as FROM run_approvals WHERE run_id = $1 AND closed_at IS NOT NULL
    ORDER BY id`;

type PendingRow = Omit<PendingApprovalItem, 'connection_host' | 'requested_at' | 'expires_at'> & {
  runId: string;
  url: string | null;
  requested_at: Date;
  expires_at: Date;
};

/** The approvals of runs: requested and used by the attempts, read by callers. `ApprovalAnswers` closes them. */
@Injectable()
export class RunApprovals {
  constructor(
    private readonly dataSource: DataSource,
    private readonly statements: PreparedStatements,
  ) {}

  /**
   * Stores the answer so far, and requests approvals for these calls of its last step, in one transaction: a stored
   * call without an approval was never in need of one. An approval that was answered, and not used, is replaced. The
   * call can be repeated.
   * @param timeoutS how long somebody can answer, in seconds
   * @throws StaleAttemptError
   */
  request(
    claim: RunClaim,
    { model, answer }: { model: string | null; answer: AnswerState },
    calls: readonly GatedCall[],
    timeoutS: number,
  ): Promise<SavedAnswer> {
    return this.dataSource.transaction(async (manager) => {
      const [saved]: SavedAnswer[] = await manager.query(SAVE_ANSWER.text, answerValues(claim, model, answer));
      if (saved === undefined) throw new StaleAttemptError(claim);
      await this.requestIn(manager, claim.runId, calls, timeoutS);
      return saved;
    });
  }

  /** Stores the approvals that do not exist yet. A trigger writes the webhook deliveries of each. */
  private async requestIn(
    manager: EntityManager,
    runId: string,
    calls: readonly GatedCall[],
    timeoutS: number,
  ): Promise<void> {
    await manager.query(
      `DELETE FROM run_approvals
        WHERE run_id = $1 AND tool_call_id = ANY($2::text[]) AND closed_at IS NOT NULL AND called_at IS NULL`,
      [runId, calls.map(({ toolCallId }) => toolCallId)],
    );
    await manager.query(
      `INSERT INTO run_approvals (id, run_id, tool_call_id, tool_name, upstream_tool, connection_id, input,
                                  target_place, target_definition, expires_at)
       SELECT id, $1, tool_call_id, tool_name, upstream_tool, connection_id, input::json, place, definition,
              now() + make_interval(secs => $2)
         FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[], $10::text[])
              AS call (id, tool_call_id, tool_name, upstream_tool, connection_id, input, place, definition)
       ON CONFLICT (run_id, tool_call_id) DO NOTHING`,
      [
        runId,
        timeoutS,
        calls.map(() => newId()),
        calls.map(({ toolCallId }) => toolCallId),
        calls.map(({ toolName }) => toolName),
        calls.map(({ target }) => target.upstreamName),
        calls.map(({ target }) => target.connectionId),
        // As text: PostgreSQL's functions on JSON refuse escaped NUL characters and unpaired surrogates, its type does
        // not.
        calls.map(({ input }) => JSON.stringify(input)),
        calls.map(({ target }) => target.place),
        calls.map(({ target }) => target.definition),
      ],
    );
  }

  /** All approvals of a run, in the order of its calls. */
  statesOf(runId: string): Promise<ApprovalState[]> {
    return this.dataSource.query(STATES, [runId]);
  }

  /**
   * Records that an approved call is made now. False if it was made before, whatever came of it: then it must not be
   * made.
   * @throws StaleAttemptError
   */
  async takeCall(claim: RunClaim, id: string): Promise<boolean> {
    const [row]: { isCurrent: boolean; isTaken: boolean }[] = await this.dataSource.query(
      `WITH current AS (${CURRENT_ATTEMPT}), taken AS (
         UPDATE run_approvals SET called_at = now() FROM current
          WHERE run_id = current.id AND run_approvals.id = $4 AND approved AND called_at IS NULL RETURNING run_id
       )
       SELECT EXISTS (SELECT FROM current) AS "isCurrent", EXISTS (SELECT FROM taken) AS "isTaken"`,
      [...valuesOf(claim), id],
    );
    if (row?.isCurrent !== true) throw new StaleAttemptError(claim);
    return row.isTaken;
  }

  /**
   * Denies what is still open, because the attempt ends its run. Returns all approvals of the run.
   * @throws StaleAttemptError
   */
  closeOpen(claim: RunClaim, end: Exclude<ApprovalEnd, 'answered'>): Promise<ApprovalState[]> {
    return this.dataSource.transaction(async (manager) => {
      // Like every closing, under the lock of the run.
      const current: unknown[] = await manager.query(`${CURRENT_ATTEMPT} FOR NO KEY UPDATE`, valuesOf(claim));
      if (current.length === 0) throw new StaleAttemptError(claim);
      await manager.query(`${CLOSE_APPROVALS} WHERE run_id = $3 AND closed_at IS NULL`, [
        end,
        REASONS[end],
        claim.runId,
      ]);
      return manager.query(STATES, [claim.runId]);
    });
  }

  /**
   * The open approvals of these runs, by run.
   * @param answer holds the memory of the inputs
   * @throws DomainError `answer_memory_exhausted`
   */
  async findPending(
    runIds: readonly string[],
    answer: HeldAnswer | undefined,
  ): Promise<ReadonlyMap<string, PendingApprovalItem[]>> {
    if (runIds.length === 0) return new Map();
    const [size] = await this.statements.rows<{ bytes: number }>(PENDING_BYTES, [runIds]);
    if (size === undefined || size.bytes === 0) return new Map();
    answer?.reserve(size.bytes * HELD_PER_JSON_BYTE);
    const rows = await this.statements.rows<PendingRow>(PENDING_ITEMS, [runIds]);
    const items = new Map<string, PendingApprovalItem[]>();
    for (const { runId, url, requested_at, expires_at, ...row } of rows) {
      const item = {
        ...row,
        connection_host: url === null ? null : new URL(url).host,
        requested_at: requested_at.toISOString(),
        expires_at: expires_at.toISOString(),
      };
      items.set(runId, [...(items.get(runId) ?? []), item]);
    }
    return items;
  }

  /** The closed approvals of a run, in the order of its calls. */
  findAnswered(runId: string): Promise<AnsweredApprovalItem[]> {
    return this.dataSource.query(ANSWERED, [runId]);
  }
}

function valuesOf({ runId, attempt, epoch }: RunClaim): unknown[] {
  return [runId, attempt, epoch];
}
