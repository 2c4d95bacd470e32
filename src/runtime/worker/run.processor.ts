import { AsyncLocalStorage } from 'node:async_hooks';
import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Job } from 'bullmq';
import { endsWithin } from '../../core/with-timeout.js';
import { AppConfig } from '../../core/config/app-config.js';
import type { ServiceWorker } from '../../platform/queue/service-queue.js';
import { throughOutage } from '../../core/through-outage.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunExecution } from '../runs/records/run-execution.js';
import type { Tenant } from '../runs/records/run-turns.js';
import { type LocalRuns, type ReservedSlot, RUN_QUEUE, type RunJob, RunQueue } from '../runs/run-queue.js';
import type { NextRun } from '../runs/records/run-finish.js';
import { RunExecutorService } from './run-executor.service.js';
import { RunSlots } from './run-slots.js';
import { RunSupervisor } from './run-supervisor.js';
import { WorkerLock } from './worker-lock.js';

const HANDOVER_MS = 2000;
/** The sweeper finds lost workers by their heartbeats, so BullMQ must never fail a stalled job. */
const MAX_STALLED_COUNT = 1000;

/** BullMQ may be fetching one job more than it is processing. */
const FETCHING = 1;

/**
 * Executes runs: claims the run of a job, executes it, and enqueues the next one. Starts an attempt that this process
 * posts without a job while slots are free, or that was started by the request that posted it; together, these ways
 * never use more slots than configured.
 */
@Processor(RUN_QUEUE, { autorun: false, maxStalledCount: MAX_STALLED_COUNT })
export class RunProcessor
  extends WorkerHost<ServiceWorker<RunJob>>
  implements OnApplicationBootstrap, BeforeApplicationShutdown, LocalRuns
{
  private readonly logger = new Logger(RunProcessor.name);
  private running: Promise<void> | undefined;
  private isClosing = false;
  /** The attempts that were started without a job, and reserved slots; they never reject. */
  private readonly started = new Set<Promise<void>>();
  private jobs = 0;
  /** An attempt must not inherit the log and trace context of the request that posted its run. */
  private readonly outsideRequests = AsyncLocalStorage.snapshot();

  constructor(
    private readonly config: AppConfig,
    private readonly slots: RunSlots,
    private readonly executor: RunExecutorService,
    private readonly execution: RunExecution,
    private readonly supervisor: RunSupervisor,
    private readonly lock: WorkerLock,
    private readonly queue: RunQueue,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    this.worker.concurrency = this.config.settings.runConcurrency;
    this.queue.offerTo(this);
    this.running = this.worker
      .run()
      .catch((error: Error) => this.logger.error({ err: error }, 'The run worker stopped'));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    // An application that is closed before it has started has no worker yet.
    if (this.running === undefined) return;
    const wasIdle = this.supervisor.isIdle;
    const { shutdownGraceMs } = this.config.settings;
    const timer = setTimeout(() => void this.supervisor.handOver(), shutdownGraceMs);
    const within = wasIdle ? HANDOVER_MS : shutdownGraceMs + HANDOVER_MS;
    await Promise.all([this.worker.close(false, within), endsWithin(Promise.all(this.started), within)]);
    clearTimeout(timer);
    // A claim that was in progress can have started a run since.
    await this.supervisor.handOver(wasIdle ? HANDOVER_MS : 0);
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job<RunJob> | undefined, error: Error): void {
    this.reportFailure(job?.data.runId, error);
  }

  override async process({ data }: Job<RunJob>): Promise<void> {
    this.jobs += 1;
    try {
      await this.executeRuns(await this.slots.take(data));
    } finally {
      this.jobs -= 1;
    }
  }

  start(attempt: NextRun): boolean {
    if (!this.hasRoom) return false;
    this.occupySlot(attempt.runId, () => this.slots.take(attempt));
    return true;
  }

  reserve(tenant: Tenant): ReservedSlot | undefined {
    if (!this.hasRoom || !this.slots.reserve(tenant)) return undefined;
    const { promise, resolve } = Promise.withResolvers<ClaimedRun | undefined>();
    this.occupySlot(undefined, () => promise);
    const epoch = this.lock.newEpoch();
    const release = (): void => {
      this.slots.release(tenant);
      resolve(undefined);
    };
    const abandon = (): void => {
      release();
      throughOutage(() => this.execution.releaseUnknown(epoch)).catch((error: Error) =>
        this.logger.warn(
          { err: error },
          'Cannot give up a run whose request failed; it will be found by its heartbeat',
        ),
      );
    };
    return { epoch, execute: resolve, release, abandon };
  }

  private get hasRoom(): boolean {
    const used = this.jobs + FETCHING + this.started.size;
    return !this.isClosing && !this.slots.isContended && used < this.config.settings.runConcurrency;
  }

  /** Executes runs without a job, beginning with the one that `take` returns. */
  private occupySlot(runId: string | undefined, take: () => Promise<ClaimedRun | undefined>): void {
    const { runConcurrency } = this.config.settings;
    const execution = this.outsideRequests(async () => this.executeRuns(await take()))
      .catch((error: Error) => this.reportFailure(runId, error))
      .finally(() => {
        this.started.delete(execution);
        this.worker.concurrency = runConcurrency - this.started.size;
      });
    this.started.add(execution);
    this.worker.concurrency = runConcurrency - this.started.size;
  }

  private reportFailure(runId: string | undefined, error: Error): void {
    this.logger.error(
      { run_id: runId, err: error },
      'An attempt failed unexpectedly; another attempt will continue the run',
    );
  }

  /** Executes runs in one slot until none waits for it. */
  private async executeRuns(first: ClaimedRun | undefined): Promise<void> {
    let run = first;
    while (run !== undefined) {
      try {
        const next = await this.executor.execute(run);
        if (next !== undefined) await this.queue.enqueue(next);
      } finally {
        this.slots.free(run);
      }
      run = this.isClosing ? undefined : await this.slots.takeNext();
    }
  }
}
