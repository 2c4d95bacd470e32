import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { databaseNow } from '../../core/database-time.js';
import { PeriodicTask } from '../../core/periodic-task.js';
import { isOpenRunStatus } from '../../core/run-status.js';
import { RunReader } from '../../runtime/runs/records/run-reader.js';
import { RunQueue } from '../../runtime/runs/run-queue.js';
import { CronError, nextTime } from './cron-times.js';
import type { ScheduleEntity } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';
import { ScheduleObstacle, ScheduleRunner } from './schedule-runner.js';

/** A time has to fire within five seconds. */
const POLL_MS = 1_500;
/** A schedule that can post no run any more is also noticed at its time. */
const LOSSES_MS = 30_000;
/**
 * How many schedules one search reads, so that its cost does not grow with organizations: one of n that can post no run
 * is found after up to n / 1,000 searches.
 */
const LOOKED_AT = 1_000;
/** Few, because a schedule that becomes due meanwhile waits for the next search. */
const SCHEDULES_PER_POLL = 50;
const FIRINGS_AT_ONCE = 4;
/** A time that is older was missed: no process ran, or none reached the database. */
const MISSED_AFTER_MS = 60_000;

/**
 * Posts the runs of due schedules, and disables those that can post none any more. Every `api` process does, and each
 * time is claimed by one of them.
 */
@Injectable()
export class Scheduler implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Scheduler.name);
  private readonly polls = new PeriodicTask((signal) => this.poll(signal), {
    pauseMs: POLL_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot search for due schedules'),
  });
  /** The id of the schedule that was looked at last; undefined before the first one. */
  private lookedAt: string | undefined;
  private readonly losses = new PeriodicTask(() => this.disableLost(), {
    pauseMs: LOSSES_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot search for schedules that can post no run any more'),
  });

  constructor(
    private readonly repository: ScheduleRepository,
    private readonly runner: ScheduleRunner,
    private readonly runs: RunReader,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    this.polls.start();
    this.losses.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.polls.stop(), this.losses.stop()]);
  }

  private async disableLost(): Promise<void> {
    this.lookedAt = await this.repository.disableLostAfter(this.lookedAt, LOOKED_AT);
  }

  private async poll(signal: AbortSignal): Promise<void> {
    let isBehind = true;
    while (isBehind && !signal.aborted) {
      const due = await this.repository.findDue(SCHEDULES_PER_POLL);
      isBehind = due.length === SCHEDULES_PER_POLL;
      const fireNext = async (): Promise<void> => {
        for (let next = due.shift(); next !== undefined && !signal.aborted; next = due.shift()) {
          // What could not be handled would be found again at once.
          if (!(await this.fire(next))) isBehind = false;
        }
      };
      await Promise.all(Array.from({ length: FIRINGS_AT_ONCE }, fireNext));
    }
  }

  /** False if the time could not be handled: it is due at the next poll. Never rejects. */
  private async fire(due: ScheduleEntity): Promise<boolean> {
    try {
      const now = databaseNow();
      const at = due.nextRunAt?.getTime() ?? now;
      // The clock of the database decides what is due; it can be ahead of ours.
      const next = nextTime(due.cron, due.timezone, new Date(Math.max(now, at)));
      await this.fireOrSkip(due, next, now - at > MISSED_AFTER_MS);
      return true;
    } catch (error) {
      if (error instanceof CronError) await this.repository.disable(due, error.message).catch(() => undefined);
      else this.logger.warn({ schedule_id: due.id, err: error as Error }, 'A schedule could not post its run');
      return false;
    }
  }

  private async fireOrSkip(due: ScheduleEntity, next: Date, isMissed: boolean): Promise<void> {
    try {
      if (isMissed && !due.catchUp) throw new ScheduleObstacle('The service did not run at this time.', false);
      if (due.overlap === 'skip') await this.requireEnded(due.lastRunId);
      const run = await this.repository.fire(due, next, await this.runner.prepare(due, { isCounted: false }));
      if (run?.isHead === true) await this.queue.wakeWorker();
    } catch (error) {
      if (!(error instanceof ScheduleObstacle)) throw error;
      if (error.isLasting) await this.repository.disable(due, error.message);
      else await this.repository.skip(due, next, error.message);
    }
  }

  private async requireEnded(runId: string | null): Promise<void> {
    if (runId === null) return;
    const status = (await this.runs.findStatuses([runId])).get(runId);
    if (status === undefined || !isOpenRunStatus(status)) return;
    throw new ScheduleObstacle('The previous run was still open.', false);
  }
}
