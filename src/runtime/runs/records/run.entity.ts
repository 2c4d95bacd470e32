import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { RunStatus } from '../../../core/run-status.js';
import type { Tier } from '../../../core/tier.js';
import type { StoredModelCall } from './model-call.js';
import { BIGINT_AS_NUMBER } from '../../../platform/database/bigint-as-number.js';

/** Why a run failed, in a form that callers can see. */
export interface RunError {
  code: string;
  message: string;
}

/** A JSON object that is valid against the output schema of the agent. */
export type AnswerObject = Record<string, unknown>;

/** Tokens that a run used, summed over its steps. */
export interface RunUsage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
}

/**
 * The record of one run on a thread. Its `position` orders the runs of a thread; its `attempt` fences off lost workers.
 */
@Entity('runs')
@ForeignKey('threads', ['organizationId', 'threadId'], ['organizationId', 'id'], { onDelete: 'CASCADE' })
@Index('runs_thread_idx', ['organizationId', 'threadId', 'position'])
@Index('runs_created_idx', ['organizationId', 'createdAt'])
@Index('runs_open_idx', ['organizationId', 'threadId', 'position'], {
  where: "status IN ('queued', 'running', 'waiting')",
})
@Index('runs_turn_idx', ['organizationId', 'holderId', 'position'], {
  where: "status = 'queued' AND turn_at IS NOT NULL",
})
@Index('runs_running_idx', ['organizationId'], { where: "status = 'running'" })
@Index('runs_waiting_idx', ['id'], { where: "status = 'waiting'" })
@Index('runs_failed_idx', ['organizationId', 'createdAt'], { where: "status = 'failed'" })
@Index('runs_idempotency_idx', ['organizationId', 'threadId', 'idempotencyKey'], {
  unique: true,
  where: 'idempotency_key IS NOT NULL',
})
@Check('runs_status_check', "status IN ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled')")
export class RunEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'varchar', name: 'thread_id', length: 128, collation: 'C', update: false })
  threadId: string;

  @Column({
    type: 'bigint',
    generated: 'identity',
    generatedIdentity: 'ALWAYS',
    insert: false,
    update: false,
    transformer: BIGINT_AS_NUMBER,
  })
  position: number;

  @Column({ type: 'uuid', name: 'agent_id', update: false })
  agentId: string;

  /** The person for whom the run acts; null for a key of the organization. */
  @Column({ type: 'uuid', name: 'user_id', nullable: true, update: false })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true, update: false })
  apiKeyId: string | null;

  /** The OAuth grant with which the run was posted. */
  @Column({ type: 'uuid', name: 'grant_id', nullable: true, update: false })
  grantId: string | null;

  /** Whose share of the slots the run uses: its key's, otherwise its person's. */
  @Column({ type: 'uuid', name: 'holder_id', update: false })
  holderId: string;

  /** The id of the request that started the run; it is sent to the upstreams. */
  @Column({ type: 'varchar', name: 'request_id', length: 128, update: false })
  requestId: string;

  /** The W3C trace context of that request; null if it had none and no traces are made. */
  @Column({ type: 'varchar', length: 256, nullable: true, update: false })
  traceparent: string | null;

  @Column({ type: 'varchar', length: 512, nullable: true, update: false })
  tracestate: string | null;

  @Column({ type: 'varchar', length: 16 })
  status: RunStatus;

  @Column({ type: 'varchar', length: 16, update: false })
  tier: Tier;

  @Column({ type: 'double precision', nullable: true, update: false })
  temperature: number | null;

  /** The id of the answer's message. */
  @Column({ type: 'varchar', name: 'message_id', length: 128, update: false })
  messageId: string;

  @Column({ type: 'int', default: 0 })
  attempt: number;

  /** The epoch of the newest claim; null before the first. */
  @Column({ type: 'text', nullable: true })
  epoch: string | null;

  /** Since when a queued run is the first of its thread; null while other runs precede it. */
  @Column({ type: 'timestamptz', name: 'turn_at', precision: 3, nullable: true })
  turnAt: Date | null;

  /** The number of attempts that gave up the run in good order. */
  @Column({ type: 'int', default: 0 })
  yields: number;

  /** Since when the run waits for approvals; null unless it does. */
  @Column({ type: 'timestamptz', name: 'waiting_since', precision: 3, nullable: true })
  waitingSince: Date | null;

  /** How long the run has waited for approvals before, in milliseconds. It does not count against its time limit. */
  @Column({ type: 'bigint', name: 'waited_ms', default: 0, transformer: BIGINT_AS_NUMBER })
  waitedMs: number;

  /** The number of stored steps. */
  @Column({ type: 'int', default: 0 })
  step: number;

  @Column({ type: 'varchar', length: 300, nullable: true })
  model: string | null;

  @Column({ type: 'jsonb', nullable: true })
  usage: RunUsage | null;

  /** The tools that it has called, once it is over. */
  @Column({ type: 'text', array: true, default: [], insert: false, update: false })
  tools: string[];

  /** What its model calls cost, each at the price of its time; null if none had a price. */
  @Column({ type: 'double precision', name: 'cost_usd', nullable: true })
  costUsd: number | null;

  /** Its model calls that have ended. Only reads of a single run select them. */
  @Column({ type: 'json', name: 'model_calls', default: [], select: false })
  modelCalls: StoredModelCall[];

  /** What its model call can cost at most, under a spending limit. The functions `spend_…` read and write it. */
  @Column({ type: 'jsonb', nullable: true, select: false, update: false })
  reservation: object | null;

  /** What it has answered, if its agent has an output schema. Only reads of a single run select it. */
  @Column({ type: 'json', nullable: true, select: false })
  output: AnswerObject | null;

  @Column({ type: 'jsonb', nullable: true })
  error: RunError | null;

  @Column({ type: 'varchar', name: 'finish_reason', length: 32, nullable: true })
  finishReason: string | null;

  /** The position of the run whose question this run answers again; null for a run with a question of its own. */
  @Column({ type: 'bigint', name: 'question_position', nullable: true, update: false, transformer: BIGINT_AS_NUMBER })
  questionPosition: number | null;

  /** The schedule that posted the run. */
  @Column({ type: 'uuid', name: 'schedule_id', nullable: true })
  scheduleId: string | null;

  /** The metadata of the thread when the run was posted. */
  @Column({ type: 'jsonb', default: {}, update: false })
  metadata: Record<string, string>;

  @Column({ type: 'timestamptz', name: 'cancel_requested_at', precision: 3, nullable: true })
  cancelRequestedAt: Date | null;

  /** The number of its steers: messages that were added while it was under way. */
  @Column({ type: 'int', default: 0 })
  steers: number;

  /** The number of steers that it has taken, the first ones. */
  @Column({ type: 'int', name: 'steers_taken', default: 0 })
  steersTaken: number;

  /** Time of the last heartbeat of its worker. */
  @Column({ type: 'timestamptz', name: 'heartbeat_at', precision: 3, default: () => 'now()' })
  heartbeatAt: Date;

  @Column({ type: 'varchar', name: 'idempotency_key', length: 255, nullable: true })
  idempotencyKey: string | null;

  @Column({ type: 'char', name: 'idempotency_hash', length: 64, nullable: true })
  idempotencyHash: string | null;

  @Column({ type: 'timestamptz', name: 'started_at', precision: 3, nullable: true })
  startedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'finished_at', precision: 3, nullable: true })
  finishedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
