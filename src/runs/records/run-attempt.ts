import type { UIMessage } from 'ai';
import type { RunError, RunStatus, RunUsage } from './run.entity.js';

/**
 * Names one attempt at a run: writes of an attempt that is no longer the newest are refused. A claim that a crash of the database
 * takes back is made again with the same number; its mark (`epoch`) tells the two apart, should both of them be worked on.
 */
export interface RunClaim {
  runId: string;
  attempt: number;
  epoch: string;
}

/** The answer as far as it goes. */
export interface AnswerState {
  parts: UIMessage['parts'];
  metadata: Record<string, unknown>;
  /** How many steps of it are finished. */
  step: number;
  usage: RunUsage;
}

/** How a run ended. */
export interface RunOutcome {
  status: Extract<RunStatus, 'completed' | 'failed' | 'cancelled'>;
  error: RunError | null;
  finishReason: string | null;
}

/** Thrown when another attempt has taken the run over, or when the run is gone. */
export class StaleAttemptError extends Error {
  constructor(claim: RunClaim) {
    super(`Attempt ${claim.attempt} at run ${claim.runId} is no longer the current one.`);
    this.name = 'StaleAttemptError';
  }
}
