import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { databaseNow } from '../../core/database-time.js';
import { RunEvents, type RunNotice } from '../events/run-events.js';
import { endsWithin } from '../../core/with-timeout.js';
import { type ClaimedRun, claimOf } from '../runs/records/new-run.js';
import type { RunClaim } from '../runs/records/run-attempt.js';
import { RunExecution } from '../runs/records/run-execution.js';
import { heartbeatTimes, WorkerLock } from './worker-liveness.js';
import { RunAttemptControl, type StopReason } from './run-attempt-control.js';

/** Tracks the attempts of this process: writes their heartbeats, and stops them on request and at their time limit. */
@Injectable()
export class RunSupervisor implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RunSupervisor.name);
  private readonly attempts = new Map<string, RunAttemptControl>();
  private timer: NodeJS.Timeout | undefined;
  private unsubscribe: (() => void) | undefined;
  private isHandingOver = false;
  private isBeating = false;
  private idle: PromiseWithResolvers<void> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly execution: RunExecution,
    private readonly events: RunEvents,
    private readonly lock: WorkerLock,
  ) {}

  onApplicationBootstrap(): void {
    this.unsubscribe = this.events.onNotice((notice) => this.heed(notice));
    this.lock.whileLost(() => void this.writeHeartbeats());
    const { beatEveryMs } = heartbeatTimes(this.config.settings.runLockMs);
    this.timer = setInterval(() => void this.writeHeartbeats(), beatEveryMs);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.unsubscribe?.();
  }

  /** True if this process executes no attempt. */
  get isIdle(): boolean {
    return this.attempts.size === 0;
  }

  /** Registers an attempt until `close`. Its run is stopped when its time limit has passed. */
  superviseAttempt(run: ClaimedRun): RunAttemptControl {
    const now = databaseNow();
    const usedMs = now - (run.startedAt?.getTime() ?? now) - run.waitedMs;
    const control = new RunAttemptControl(claimOf(run), this.config.settings.runTimeoutMs - usedMs, run.steers);
    this.attempts.set(run.id, control);
    if (this.isHandingOver) control.stop('handover');
    return control;
  }

  close(control: RunAttemptControl): void {
    control.end();
    if (this.attempts.get(control.claim.runId) === control) this.attempts.delete(control.claim.runId);
    if (this.isIdle) this.idle?.resolve();
  }

  /** The claims of the attempts in progress. */
  get claims(): RunClaim[] {
    return [...this.attempts.values()].map(({ claim }) => claim);
  }

  /** Stops the attempt of this process at a run, if there is one. */
  stopRun(runId: string, reason: StopReason): void {
    this.attempts.get(runId)?.stop(reason);
  }

  stopAll(reason: StopReason): void {
    for (const control of this.attempts.values()) control.stop(reason);
  }

  /**
   * Hands over all attempts, including those whose claim is still in progress: they would otherwise fail when the
   * process closes its connections. Resolves when the current attempts have ended, or after `withinMs` milliseconds.
   */
  async handOver(withinMs = 0): Promise<void> {
    this.isHandingOver = true;
    this.stopAll('handover');
    if (this.isIdle || withinMs === 0) return;
    this.idle ??= Promise.withResolvers();
    await endsWithin(this.idle.promise, withinMs);
  }

  private heed(notice: RunNotice): void {
    if (notice.type === 'cancel') return this.stopRun(notice.runId, 'cancelled');
    this.attempts.get(notice.runId)?.steering.note(notice.steerId, notice.interrupts);
  }

  private async writeHeartbeats(): Promise<void> {
    if (this.attempts.size === 0 || this.isBeating) return;
    this.isBeating = true;
    try {
      const { cancelled, stale, steered } = await this.execution.heartbeat(this.claims);
      for (const claim of cancelled) this.stop(claim, 'cancelled');
      for (const claim of stale) this.stop(claim, 'stale');
      for (const { runId, lastInterrupting } of steered) {
        this.attempts.get(runId)?.steering.noteWaiting(lastInterrupting);
      }
    } catch (error) {
      this.logger.warn({ err: error }, 'Cannot write the heartbeats of running attempts');
    } finally {
      this.isBeating = false;
    }
  }

  private stop({ runId, epoch }: RunClaim, reason: StopReason): void {
    const control = this.attempts.get(runId);
    if (control?.claim.epoch === epoch) control.stop(reason);
  }
}
