import type { FramePosition, FrameBatch, PreviousRun, RunSignal } from './run-event-store.js';

/** Limits of the signals that one reader buffers. */
const MAX_WAITING_BYTES = 256 * 1024;
const MAX_WAITING_RUNS = 64;

interface WaitingRun {
  batches: FrameBatch[];
  bytes: number;
  /** True if signalled frames are missing from `batches`: the store must be read. */
  incomplete: boolean;
  /** From the first frames. */
  follows?: PreviousRun;
}

/** Shared by the inboxes that have not received a signal: there are as many as idle streams. */
const NO_RUNS = new Map<string, WaitingRun>();

/** A signalled run, with the preceding run on its thread if the signal named it. */
export interface SignalledRun {
  readonly runId: string;
  readonly follows: PreviousRun | undefined;
}

/** How to get the frames after a given one: use this batch, read the store, or wait. */
type NextStep = FrameBatch | 'read' | 'wait';

/**
 * Buffers the signals of one reader by run, in bounded memory. Drops batches that do not fit and marks their run as
 * incomplete.
 */
export class SignalInbox {
  private runs = NO_RUNS;
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

  /** From now on, keeps frames of this run only. Of other runs, it records only that they were signalled. */
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
   * The buffered frames of a run after `after`. When one writer takes over from another, only the store knows whether
   * its frames continue those that the reader has.
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

  /** Call before reading the store: frames that arrive from now on are buffered again. */
  startReading(runId: string): void {
    const run = this.runs.get(runId);
    if (run) {
      this.forgetBatches(run);
      run.incomplete = false;
    }
  }

  /** The first signalled run for which `isHandled` is false. Drops the runs before it. */
  firstUnhandled(isHandled: (runId: string) => boolean): SignalledRun | undefined {
    for (const [runId, { follows }] of this.runs) {
      if (!isHandled(runId)) {
        return { runId, follows };
      }
      this.drop(runId);
    }
    return undefined;
  }

  /** Whether signals of runs may have been lost since the last call. */
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
    if (this.runs === NO_RUNS) {
      this.runs = new Map();
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

/** In UTF-16 code units, which approximates the memory of the strings. */
function sizeOf(batch: FrameBatch): number {
  return batch.frames.reduce((sum, frame) => sum + frame.length, 0);
}
