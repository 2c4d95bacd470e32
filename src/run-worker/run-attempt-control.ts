import type { RunClaim } from '../runs/records/run-attempt.js';

/** Why an attempt stops before its answer is finished. */
export type StopReason =
  /** Somebody asked for it. */
  | 'cancelled'
  /** The API key that posted the run was deleted or has expired. */
  | 'revoked'
  /** The run took longer than it may. */
  | 'timeout'
  /** Another worker has taken the run over. */
  | 'stale'
  /** Somebody with less than their share waits for a slot. */
  | 'yield'
  /** This process shuts down; another worker is to go on. */
  | 'handover';

/** The switch by which an attempt under way is stopped. The first reason counts. */
export class RunAttemptControl {
  private readonly controller = new AbortController();
  private reason: StopReason | undefined;

  constructor(readonly claim: RunClaim) {}

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
}

/** What the work of a stopped attempt rejects with. */
export class RunStoppedError extends Error {
  constructor(readonly reason: StopReason) {
    super(`The run was stopped: ${reason}.`);
    this.name = 'RunStoppedError';
  }
}
