import type { UIMessage } from 'ai';
import type { ModelCall } from './model-call.js';
import type { RunStatus } from '../../../core/run-status.js';
import type { AnswerObject, RunError, RunUsage } from './run.entity.js';

/**
 * Identifies one attempt at a run; writes of outdated attempts are refused. A claim that a crash of the database
 * reverts is made again with the same number. The epoch distinguishes the two, in case workers work on both.
 */
export interface RunClaim {
  runId: string;
  attempt: number;
  epoch: string;
}

/** The answer so far. */
export interface AnswerState {
  parts: UIMessage['parts'];
  metadata: Record<string, unknown>;
  /** The number of its finished steps. */
  step: number;
  usage: RunUsage;
  /** Null if no model call had a price. */
  costUsd: number | null;
  modelCalls: readonly ModelCall[];
}

/** How a run ended. */
export interface RunOutcome {
  status: Extract<RunStatus, 'completed' | 'failed' | 'cancelled'>;
  error: RunError | null;
  finishReason: string | null;
  /** Of a completed run whose agent has an output schema. */
  output?: AnswerObject | undefined;
}

/** Thrown when another attempt has taken over the run, or when the run was deleted. */
export class StaleAttemptError extends Error {
  constructor(claim: RunClaim) {
    super(`Attempt ${claim.attempt} at run ${claim.runId} is no longer the current attempt.`);
    this.name = 'StaleAttemptError';
  }
}
