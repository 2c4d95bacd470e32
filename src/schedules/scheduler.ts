import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { PeriodicTask } from '../common/periodic-task.js';
import { RunReader } from '../runs/records/run-reader.js';
import { RunQueue } from '../runs/run-queue.js';
import { CronError, nextTime } from './cron-times.js';
import type { ScheduleEntity } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';
import { ScheduleObstacle, ScheduleRunner } from './schedule-runner.js';

/** A time has to fire within five seconds. */
const POLL_MS = 1_500;
const SCHEDULES_PER_POLL = 200;
const FIRINGS_AT_ONCE = 4;
/** A time that is older was missed: no process ran, or none reached the database. */
const MISSED_AFTER_MS = 60_000;

/** Posts the runs of due schedules. Every `api` process does, and each time is claimed by one of them. */
@Injectable()
export class Scheduler implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Scheduler.name);
  private readonly polls = new PeriodicTask((signal) => this.poll(signal), {
    pauseMs: POLL_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot search for due schedules'),
  });

  constructor(
    private readonly repository: ScheduleRepository,
    private readonly runner: ScheduleRunner,
    private readonly runs: RunReader,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    this.polls.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.polls.stop();
  }

  private async poll(signal: AbortSignal): Promise<void> {
    await this.repository.disableLost();
    const due = await this.repository.findDue(SCHEDULES_PER_POLL);
    const fireNext = async (): Promise<void> => {
      for (let next = due.shift(); next !== undefined && !signal.aborted; next = due.shift()) await this.fire(next);
    };
    await Promise.all(Array.from({ length: FIRINGS_AT_ONCE }, fireNext));
  }

  /** Never rejects: a time that could not be handled is due at the next poll. */
  private async fire(due: ScheduleEntity): Promise<void> {
    try {
      const now = Date.now();
      const at = due.nextRunAt?.getTime() ?? now;
      // The clock of the database decides what is due; it can be ahead of ours.
      const next = nextTime(due.cron, due.timezone, new Date(Math.max(now, at)));
      await this.fireOrSkip(due, next, now - at > MISSED_AFTER_MS);
    } catch (error) {
      if (error instanceof CronError) await this.repository.disable(due, error.message).catch(() => undefined);
      else this.logger.warn({ schedule_id: due.id, err: error as Error }, 'A schedule could not post its run');
    }
  }

  private async fireOrSkip(due: ScheduleEntity, next: Date, isMissed: boolean): Promise<void> {
    try {
      if (isMissed && !due.catchUp) throw new ScheduleObstacle('The service did not run at this time.', false);
      if (due.overlap === 'skip') await this.requireEnded(due.lastRunId);
      const run = await this.repository.fire(due, next, await this.runner.prepare(due));
      if (run?.isHead === true) await this.queue.enqueue({ runId: run.runId, attempt: 1 });
    } catch (error) {
      if (!(error instanceof ScheduleObstacle)) throw error;
      if (error.isLasting) await this.repository.disable(due, error.message);
      else await this.repository.skip(due, next, error.message);
    }
  }

  private async requireEnded(runId: string | null): Promise<void> {
    if (runId === null) return;
    const status = (await this.runs.findStatuses([runId])).get(runId);
    if (status === undefined || ['completed', 'failed', 'cancelled'].includes(status)) return;
    throw new ScheduleObstacle('The previous run was still open.', false);
  }
}
