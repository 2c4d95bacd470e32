import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../common/periodic-task.js';
import { RunTelemetry } from '../telemetry/run-telemetry.js';
import { RunRevocation, type RevokedRuns } from '../runs/records/run-revocation.js';
import { CREDENTIAL_REVOKED } from './run-failure.js';
import { RunSupervisor } from './run-supervisor.js';
import { UnstartedRun } from '../runs/unstarted-run.js';

/** Half of the two seconds within which runs of a lost key must end: the rest is for ending them. */
const CHECK_EVERY_MS = 750;
const MAX_WAITING_PER_ROUND = 500;
const AT_ONCE = 5;

const OUTCOME = { status: 'failed', error: CREDENTIAL_REVOKED, finishReason: 'error' } as const;

/**
 * Ends the runs whose API key was deleted or has expired. One query for all of them instead of one for each step, so that it
 * works for expiry, with either queue, and when the process that deleted the key has died since. While the database is away
 * nothing can be told; the next round after that catches up.
 */
@Injectable()
export class RunRevocations implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RunRevocations.name);
  private readonly checks = new PeriodicTask(() => this.check(), {
    pauseMs: CHECK_EVERY_MS,
    onError: (error) => this.logger.warn({ err: error }, 'Runs of deleted API keys could not be ended; retrying'),
  });

  constructor(
    private readonly revocation: RunRevocation,
    private readonly supervisor: RunSupervisor,
    private readonly unstarted: UnstartedRun,
    private readonly telemetry: RunTelemetry,
  ) {}

  onApplicationBootstrap(): void {
    this.checks.start();
  }

  onApplicationShutdown(): void {
    void this.checks.stop();
  }

  private async check(): Promise<void> {
    const { waiting, running } = await this.revocation.find(this.supervisor.claims, MAX_WAITING_PER_ROUND);
    for (const runId of running) this.supervisor.stopRun(runId, 'revoked');
    const left = waiting.values();
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.endEach(left)));
  }

  /** Several work on the same list: each takes the next. */
  private async endEach(waiting: Iterable<RevokedRuns['waiting'][number]>): Promise<void> {
    for (const { runId, requestId } of waiting) {
      const ended = await this.revocation.endWaiting(runId, OUTCOME);
      if (ended === undefined) continue;
      const { code } = CREDENTIAL_REVOKED;
      this.telemetry.countUnstarted({ status: 'failed', errorCode: code });
      const { threadId: thread_id } = ended.run;
      this.logger.warn({ run_id: runId, thread_id, request_id: requestId, code }, 'A run failed');
      const last = { type: 'error', errorText: CREDENTIAL_REVOKED.message } as const;
      await this.unstarted.conclude(ended, { finishReason: 'error' }, last);
    }
  }
}
