import type { RunClaim } from '../runs/records/run-attempt.js';
import { SteeringSignal } from './attempt-steering.js';

/** Why an attempt stops before its answer is finished. */
export type StopReason =
  /** A caller cancelled the run. */
  | 'cancelled'
  /** The API key that posted the run was deleted or has expired. */
  | 'revoked'
  /** The run exceeded its time limit. */
  | 'timeout'
  /** Another worker has taken the run over. */
  | 'stale'
  /** A tenant with less than its share waits for a slot. */
  | 'yield'
  /** Tool calls need an approval. */
  | 'waiting'
  /** This process shuts down; another worker continues the run. */
  | 'handover';

/** Stops an attempt in progress. Only the first reason counts. */
export class RunAttemptControl {
  private readonly controller = new AbortController();
  private reason: StopReason | undefined;
  private readonly timer: NodeJS.Timeout;
  readonly steering: SteeringSignal;

  /**
   * @param remainingMs the run's time limit leaves it this much
   * @param steers how many messages have steered the run before
   */
  constructor(
    readonly claim: RunClaim,
    remainingMs: number,
    steers = 0,
  ) {
    this.steering = new SteeringSignal(steers);
    this.timer = setTimeout(() => this.stop('timeout'), Math.max(0, remainingMs));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get stopped(): StopReason | undefined {
    return this.reason;
  }

  stop(reason: StopReason): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.controller.abort(new RunStoppedError(reason));
  }

  /** The attempt has ended. */
  end(): void {
    clearTimeout(this.timer);
  }
}

/** The error with which the work of a stopped attempt rejects. */
class RunStoppedError extends Error {
  constructor(readonly reason: StopReason) {
    super(`The run was stopped: ${reason}.`);
    this.name = 'RunStoppedError';
  }
}
