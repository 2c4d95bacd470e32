import { AsyncLocalStorage } from 'node:async_hooks';
import { Processor, WorkerHost } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { endsWithin } from '../../core/with-timeout.js';
import { AppConfig } from '../../core/config/app-config.js';
import type { ServiceWorker } from '../../platform/queue/service-queue.js';
import { throughOutage } from '../../core/retry.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunExecution } from '../runs/records/run-execution.js';
import type { Tenant } from '../runs/records/run-turns.js';
import { type LocalRuns, type ReservedSlot, RUN_QUEUE, RunQueue } from '../runs/run-queue.js';
import { heartbeatTimes } from './worker-liveness.js';
import { RunExecutorService } from './run-executor.service.js';
import { RunSlots } from './run-slots.js';
import { RunSupervisor } from './run-supervisor.js';

const HANDOVER_MS = 2000;

/**
 * Executes runs in the slots of this process. A run starts with its post, in a slot that was reserved for it, or it is
 * claimed because of a wake-up: of this process, as a job, or by the search that makes up for lost ones.
 */
@Processor(RUN_QUEUE, { autorun: false })
export class RunProcessor
  extends WorkerHost<ServiceWorker>
  implements OnApplicationBootstrap, BeforeApplicationShutdown, LocalRuns
{
  private readonly logger = new Logger(RunProcessor.name);
  private running: Promise<void> | undefined;
  private isClosing = false;
  /** What is executed in each slot; never rejects. */
  private readonly occupied = new Set<Promise<void>>();
  private freed = Promise.withResolvers<void>();
  private readonly searches: PeriodicTask;
  /** An attempt must not inherit the log and trace context of the request that posted its run. */
  private readonly outsideRequests = AsyncLocalStorage.snapshot();

  constructor(
    private readonly config: AppConfig,
    private readonly slots: RunSlots,
    private readonly executor: RunExecutorService,
    private readonly execution: RunExecution,
    private readonly supervisor: RunSupervisor,
    private readonly queue: RunQueue,
  ) {
    super();
    this.searches = new PeriodicTask(() => this.fillSlots(), {
      pauseMs: heartbeatTimes(config.settings.runLockMs).searchEveryMs,
      onError: () => undefined,
    });
  }

  onApplicationBootstrap(): void {
    this.queue.offerTo(this);
    this.searches.start();
    this.running = this.worker
      .run()
      .catch((error: Error) => this.logger.error({ err: error }, 'The run worker stopped'));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    this.freed.resolve();
    void this.searches.stop();
    // An application that is closed before it has started has no worker yet.
    if (this.running === undefined) return;
    const wasIdle = this.supervisor.isIdle;
    const { shutdownGraceMs } = this.config.settings;
    const timer = setTimeout(() => void this.supervisor.handOver(), shutdownGraceMs);
    const within = wasIdle ? HANDOVER_MS : shutdownGraceMs + HANDOVER_MS;
    await Promise.all([this.worker.close(false, within), endsWithin(Promise.all(this.occupied), within)]);
    clearTimeout(timer);
    // A claim that was in progress can have started a run since.
    await this.supervisor.handOver(wasIdle ? HANDOVER_MS : 0);
  }

  /** A wake-up. The job ends once a slot is free again: a process without one takes no wake-up from other workers. */
  override async process(): Promise<void> {
    await this.untilFree();
    void this.occupySlot(() => this.slots.claimNextRun());
    await this.untilFree();
  }

  wake(): boolean {
    if (!this.hasRoom) return false;
    void this.occupySlot(() => this.slots.claimNextRun());
    return true;
  }

  reserve(tenant: Tenant): ReservedSlot | undefined {
    const epoch = this.hasRoom ? this.slots.reserve(tenant) : undefined;
    if (epoch === undefined) return undefined;
    const { promise, resolve } = Promise.withResolvers<ClaimedRun | undefined>();
    void this.occupySlot(() => promise);
    const release = (): void => {
      this.slots.release(tenant, epoch);
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

  /** One slot is left to the job that BullMQ may be fetching: this process would keep it from other workers. */
  private get hasRoom(): boolean {
    const { runConcurrency } = this.config.settings;
    return !this.isClosing && !this.slots.isContended && this.occupied.size + 1 < runConcurrency;
  }

  private get isFull(): boolean {
    return !this.isClosing && this.occupied.size >= this.config.settings.runConcurrency;
  }

  private async untilFree(): Promise<void> {
    while (this.isFull) await this.freed.promise;
  }

  /** Starts runs whose wake-ups were lost, and continues those whose workers are silent. */
  private async fillSlots(): Promise<void> {
    while (!this.isFull && !this.isClosing && (await this.occupySlot(() => this.slots.claimNextRun())));
  }

  /** Executes runs in a free slot, beginning with the one that `claim` returns. Returns whether there was one. */
  private occupySlot(claim: () => Promise<ClaimedRun | undefined>): Promise<boolean> {
    const { promise: hasStarted, resolve } = Promise.withResolvers<boolean>();
    const execution = this.outsideRequests(async () => {
      const run = await claim();
      resolve(run !== undefined);
      await this.executeRuns(run);
    })
      .catch((error: Error) => this.logger.warn({ err: error }, 'Cannot claim a run; the next search will find it'))
      .finally(() => {
        resolve(false);
        this.occupied.delete(execution);
        this.freed.resolve();
        this.freed = Promise.withResolvers();
      });
    this.occupied.add(execution);
    return hasStarted;
  }

  /** Executes runs in one slot until none waits for it. */
  private async executeRuns(first: ClaimedRun | undefined): Promise<void> {
    for (let run = first; run !== undefined;) {
      const current = run;
      const isFollowed = await this.executor
        .execute(current, () => this.slots.shouldYield(current))
        .catch((error: Error) => {
          const failure = 'An attempt failed unexpectedly; another attempt will continue the run';
          this.logger.error({ run_id: current.id, err: error }, failure);
          return false;
        });
      this.slots.free(current);
      if (this.isClosing) return isFollowed ? this.queue.wakeWorker() : undefined;
      run = await (isFollowed ? this.slots.claimNextRun() : this.slots.claimWaitingRun());
    }
  }
}
