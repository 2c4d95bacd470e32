import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { RunTelemetry } from '../../platform/telemetry/run-telemetry.js';
import { RunRevocation, type RevokedRuns } from '../runs/records/run-ending.js';
import { CREDENTIAL_REVOKED } from './run-failure.js';
import { RunSupervisor } from './run-supervisor.js';
import { RunQueue } from '../runs/run-queue.js';
import { UnstartedRun } from '../runs/unstarted-run.js';

/** Runs of a revoked key must end within two seconds. The rest of that time is for ending them. */
const CHECK_EVERY_MS = 750;
const MAX_WAITING_PER_ROUND = 500;
const CONCURRENCY = 5;

const OUTCOME = { status: 'failed', error: CREDENTIAL_REVOKED, finishReason: 'error' } as const;

/**
 * Ends the runs whose API key was deleted or has expired. One query for all runs, instead of one for each step, also
 * covers expired keys, both queues, and keys that were deleted by a process that has since stopped. While the database
 * is unavailable, no run ends; the next round catches up.
 */
@Injectable()
export class RunRevocations implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RunRevocations.name);
  private readonly checks = new PeriodicTask(() => this.check(), {
    pauseMs: CHECK_EVERY_MS,
    onError: (error) =>
      this.logger.warn({ err: error }, 'Cannot end the runs of deleted or expired API keys; retrying'),
  });

  constructor(
    private readonly revocation: RunRevocation,
    private readonly supervisor: RunSupervisor,
    private readonly unstarted: UnstartedRun,
    private readonly telemetry: RunTelemetry,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    this.checks.start();
  }

  onApplicationShutdown(): void {
    void this.checks.stop();
  }

  private async check(): Promise<void> {
    const { waiting, suspended, running } = await this.revocation.find(this.supervisor.claims, MAX_WAITING_PER_ROUND);
    for (const runId of running) this.supervisor.stopRun(runId, 'revoked');
    for (const runId of suspended) {
      if (await this.revocation.endSuspended(runId)) await this.queue.wakeWorker();
    }
    const left = waiting.values();
    await Promise.all(Array.from({ length: CONCURRENCY }, () => this.endRuns(left)));
  }

  /** Concurrent calls share one iterator, and each takes the next run. */
  private async endRuns(waiting: Iterable<RevokedRuns['waiting'][number]>): Promise<void> {
    for (const { runId, requestId } of waiting) {
      const ended = await this.revocation.endWaiting(runId, OUTCOME);
      if (ended === undefined) continue;
      const { code } = CREDENTIAL_REVOKED;
      this.telemetry.countUnstarted({ status: 'failed', errorCode: code });
      const { threadId: thread_id } = ended.run;
      this.logger.warn({ run_id: runId, thread_id, request_id: requestId, code }, 'A run failed');
      const last = { type: 'error', errorText: CREDENTIAL_REVOKED.message } as const;
      // Takes seconds while the event bus does not answer. The runs of other keys do not wait for that.
      void this.unstarted
        .conclude(ended, { finishReason: 'error' }, last)
        .catch((error: Error) => this.logger.warn({ run_id: runId, err: error }, 'Cannot wake a worker'));
    }
  }
}
