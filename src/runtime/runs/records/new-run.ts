import type { UIMessage } from 'ai';
import type { Tier } from '../../../core/tier.js';
import type { RunClaim } from './run-attempt.js';
import type { RunEntity } from './run.entity.js';

/** A message of a run request as it is stored. */
interface NewMessage {
  id: string;
  role: 'system' | 'user';
  parts: UIMessage['parts'];
}

/** A checked run request. */
export interface NewRun {
  organizationId: string;
  threadId: string;
  agentId: string;
  userId: string | null;
  apiKeyId: string | null;
  grantId: string | null;
  requestId: string;
  /** The W3C trace context that the run's attempts continue. */
  trace?: { readonly traceparent: string; readonly tracestate?: string } | undefined;
  /** Null is the agent's. */
  tier: Tier | null;
  temperature: number | null;
  messages: readonly NewMessage[];
  idempotency: { key: string; hash: string } | undefined;
  /** The run that has to be the last one of the thread when this one is posted. */
  follows?: string | undefined;
  /** Becomes the metadata of the thread, whose metadata each run gets. */
  metadata?: Readonly<Record<string, string>> | undefined;
}

/** The outcome of a run request. */
export interface PostedRun {
  runId: string;
  /** True when the run is the thread's first open run and can be executed now; false for a repeated request. */
  isHead: boolean;
  /** True when an earlier request with the same idempotency key has posted the run. */
  isRepeated: boolean;
  /** The run's first attempt, if it started in the transaction that posted the run. */
  started?: ClaimedRun | undefined;
}

/** The columns of `runs` under the names of the entity, for statements that return rows. */
export const RUN_COLUMNS = `
  id, organization_id AS "organizationId", thread_id AS "threadId", position::float8 AS "position",
  agent_id AS "agentId", user_id AS "userId", api_key_id AS "apiKeyId", grant_id AS "grantId",
  holder_id AS "holderId", request_id AS "requestId", traceparent, tracestate, status, tier, temperature,
  message_id AS "messageId", attempt, epoch, turn_at AS "turnAt", yields, waiting_since AS "waitingSince",
  waited_ms::float8 AS "waitedMs", step, model, usage, cost_usd AS "costUsd", model_calls AS "modelCalls", error,
  finish_reason AS "finishReason", metadata, schedule_id AS "scheduleId",
  question_position::float8 AS "questionPosition", cancel_requested_at AS "cancelRequestedAt",
  steers, steers_taken AS "steersTaken", heartbeat_at AS "heartbeatAt", idempotency_key AS "idempotencyKey", idempotency_hash AS "idempotencyHash",
  started_at AS "startedAt", finished_at AS "finishedAt", created_at AS "createdAt", updated_at AS "updatedAt"` satisfies string;

/** When the thread of a row of `runs` was made: an id can belong to another thread once the former one was deleted. */
export const THREAD_CREATED_AT = `(
  SELECT threads.created_at FROM threads WHERE threads.organization_id = runs.organization_id
    AND threads.id = runs.thread_id)`;

/** SQL condition on a row of `runs`: anything in its organization has a spending limit. */
export const HAS_SPEND_LIMIT =
  'EXISTS (SELECT FROM spend_limits WHERE spend_limits.organization_id = runs.organization_id)';

/** A row read with `RUN_COLUMNS`. */
type RunRow = Omit<RunEntity, 'reservation' | 'output'>;

/** A run that an attempt works on. */
export interface ClaimedRun extends RunRow {
  epoch: string;
  /** `THREAD_CREATED_AT`. */
  threadCreatedAt: Date;
  /** The run that was posted to the thread right before it; null for the thread's first. Immutable. */
  previousId: string | null;
  /** The API key that posted the run was deleted or has expired. */
  hasLostCredential: boolean;
  /** Its organization has a limit of concurrent runs. */
  isLimited: boolean;
  /** `HAS_SPEND_LIMIT`. */
  hasSpendLimit: boolean;
}

export function claimOf({ id: runId, attempt, epoch }: ClaimedRun): RunClaim {
  return { runId, attempt, epoch };
}
