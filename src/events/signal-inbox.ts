import type { FramePosition } from './frame-position.js';
import type { FrameBatch, PreviousRun, RunSignal } from './run-event-store.js';

/** Bounds of what one reader keeps of signals that nobody has taken yet. */
const MAX_WAITING_BYTES = 256 * 1024;
const MAX_WAITING_RUNS = 64;

interface WaitingRun {
  batches: FrameBatch[];
  bytes: number;
  /** True when frames were signalled that are not in `batches`: the store must be read. */
  incomplete: boolean;
  /** As the first frames said it. */
  follows?: PreviousRun;
}

/** A run that was signalled, and which one it follows on its thread, if that was said. */
export interface HeardRun {
  readonly runId: string;
  readonly follows: PreviousRun | undefined;
}

/** What to do next for the frames after a given one: go on with these, read the store, or wait. */
export type NextStep = FrameBatch | 'read' | 'wait';

/**
 * The signals that have arrived at one reader and wait to be taken, run by run, within bounded memory. What does
 * not fit is forgotten and remembered as missing.
 */
export class SignalInbox {
  private readonly runs = new Map<string, WaitingRun>();
  private bytes = 0;
  private followed: string | undefined;
  private runsMissed = false;

  put(signal: RunSignal): void {
    if (signal.type === 'resync') {
      this.runsMissed = true;
      this.runs.forEach((run) => this.forgetBatches(run));
      return;
    }
    const run = this.runOf(signal.runId);
    if (run === undefined) {
      return;
    }
    if (signal.type === 'batch' && signal.follows !== undefined) {
      run.follows = signal.follows;
    }
    if (run.incomplete) {
      return;
    }
    const keep = signal.type === 'batch' && (this.followed ?? signal.runId) === signal.runId;
    const bytes = keep ? sizeOf(signal) : 0;
    if (!keep || this.bytes + bytes > MAX_WAITING_BYTES) {
      this.forgetBatches(run);
      return;
    }
    run.batches.push(signal);
    run.bytes += bytes;
    this.bytes += bytes;
  }

  /** From now on only this run's frames are kept; of other runs only that they are there. */
  follow(runId: string): void {
    this.followed = runId;
    this.runOf(runId);
    this.runs.forEach((run, id) => {
      if (id !== runId) {
        this.forgetBatches(run);
      }
    });
  }

  unfollow(runId: string): void {
    this.drop(runId);
    this.followed = undefined;
  }

  /**
   * The frames of a run that come after `after`, if they have arrived; frames up to it are left out. Where one writer takes over
   * from another only the store can tell whether its frames follow those that the reader has.
   */
  next(runId: string, after: FramePosition): NextStep {
    const { n } = after;
    const run = this.runs.get(runId);
    if (!run) {
      return 'wait';
    }
    for (let batch = run.batches[0]; batch; batch = run.batches[0]) {
      if (batch.first > n + 1 || (n > 0 && batch.epoch !== after.epoch)) {
        return 'read';
      }
      run.batches.shift();
      run.bytes -= sizeOf(batch);
      this.bytes -= sizeOf(batch);
      if (batch.first === n + 1) {
        return batch;
      }
      const frames = batch.frames.slice(n + 1 - batch.first);
      if (frames.length > 0 || batch.end) {
        return { ...batch, first: n + 1, frames };
      }
    }
    return run.incomplete ? 'read' : 'wait';
  }

  /** To be called before the store is read: what arrives from now on is kept again. */
  startReading(runId: string): void {
    const run = this.runs.get(runId);
    if (run) {
      this.forgetBatches(run);
      run.incomplete = false;
    }
  }

  /** The first run that was signalled and for which `carried` is false; those before it are forgotten. */
  firstOther(carried: (runId: string) => boolean): HeardRun | undefined {
    for (const [runId, { follows }] of this.runs) {
      if (!carried(runId)) {
        return { runId, follows };
      }
      this.drop(runId);
    }
    return undefined;
  }

  /** Whether runs may have been missed since the last call. */
  takeRunsMissed(): boolean {
    const missed = this.runsMissed;
    this.runsMissed = false;
    return missed;
  }

  private runOf(runId: string): WaitingRun | undefined {
    const known = this.runs.get(runId);
    if (known) {
      return known;
    }
    if (this.runs.size >= MAX_WAITING_RUNS && runId !== this.followed) {
      this.runsMissed = true;
      return undefined;
    }
    const run: WaitingRun = { batches: [], bytes: 0, incomplete: false };
    this.runs.set(runId, run);
    return run;
  }

  private forgetBatches(run: WaitingRun): void {
    this.bytes -= run.bytes;
    run.batches = [];
    run.bytes = 0;
    run.incomplete = true;
  }

  private drop(runId: string): void {
    this.bytes -= this.runs.get(runId)?.bytes ?? 0;
    this.runs.delete(runId);
  }
}

/** In UTF-16 units: what the strings take up here, near enough. */
function sizeOf(batch: FrameBatch): number {
  return batch.frames.reduce((sum, frame) => sum + frame.length, 0);
}
