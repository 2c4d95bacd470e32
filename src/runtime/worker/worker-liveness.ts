import {
  Injectable,
  Logger,
  type OnApplicationShutdown,
  type OnModuleInit,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeptConnection } from '../../core/kept-connection.js';
import { AppConfig } from '../../core/config/app-config.js';
import { newEpoch, newWorkerId } from '../../core/epochs.js';
import { LOCK_WORKER, LostAttempts } from '../runs/records/lost-attempts.js';
import { PeriodicTask } from '../../core/periodic-task.js';
import { RunQueue } from '../runs/run-queue.js';

/** `pg_stat_activity` shows the connection under this name. */
const WORKER_APPLICATION_NAME = 'signalbox-worker';

/** A check also finds out that the database has given the connection up. */
const CHECK_EVERY_MS = 2_000;
/**
 * A worker that hardly gets processor time must not replace a connection that works: it would lose its runs meanwhile.
 */
const ANSWER_WITHIN_MS = 10_000;
const LONGEST_PAUSE_MS = 250;

/**
 * The database gives up a silent connection after 9 s; without this, a host that loses its power keeps its lock for
 * hours.
 */
const SESSION = `
  SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = 9000;
  SET idle_session_timeout = 0`;

/**
 * The lock in the database that tells whether this process lives. It belongs to a connection: when the process is
 * killed, its kernel closes the connection, and the database frees the lock. A process that is stopped keeps it. While
 * the lock is lost, the listener's heartbeats show that the process lives.
 */
@Injectable()
export class WorkerLock implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(WorkerLock.name);
  private readonly workerId = newWorkerId();
  private readonly connection: KeptConnection;
  private readonly tried = Promise.withResolvers<void>();
  private lostListener: (() => void) | undefined;
  private isHeld = false;
  private pid: number | undefined;

  constructor(config: AppConfig) {
    this.connection = new KeptConnection({
      databaseUrl: config.databaseUrl,
      applicationName: WORKER_APPLICATION_NAME,
      checkEveryMs: CHECK_EVERY_MS,
      answerWithinMs: ANSWER_WITHIN_MS,
      longestPauseMs: LONGEST_PAUSE_MS,
      onOpen: (client) => this.take(client),
      check: (client) => this.check(client),
      onEnd: () => (this.isHeld = false),
      onFailure: (error, failures) => this.onFailure(error, failures),
    });
  }

  /** Runs that start before the first try would have no lock. A database that does not respond is not waited for. */
  onModuleInit(): Promise<void> {
    this.connection.start();
    return this.tried.promise;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.connection.close();
  }

  /** The epoch of an attempt of this process. It names the process while the lock is held. */
  newEpoch(): string {
    return newEpoch(this.isHeld ? this.workerId : undefined);
  }

  /** Calls back while the lock is lost, a few times a second. */
  whileLost(listener: () => void): void {
    this.lostListener = listener;
  }

  private async take(client: Client): Promise<void> {
    await client.query(SESSION);
    const { rows } = await client.query<{ pid: number }>(LOCK_WORKER, [this.workerId]);
    this.pid = rows[0]?.pid;
    this.isHeld = true;
    this.tried.resolve();
  }

  /** A pooler can give the session to another client, and the lock with it. */
  private async check(client: Client): Promise<void> {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    if (rows[0]?.pid !== this.pid) throw new Error('A pooler has exchanged the session; it must use session pooling.');
  }

  private onFailure(error: unknown, failures: number): void {
    if (failures === 1) {
      const reason = error instanceof Error ? error.message : 'unknown';
      this.logger.warn({ reason }, 'The connection that shows that this worker lives was lost; reconnecting');
    }
    this.tried.resolve();
    this.lostListener?.();
  }
}

const LOOK_EVERY_MS = 500;
/** A worker whose connection was lost takes its lock again within this time, or sends a heartbeat. */
const TAKES_LOCK_WITHIN_MS = 900;

/**
 * Finds workers that have died, and gives up their attempts, so that others continue the runs. Every worker looks. A
 * worker that is stopped keeps its lock; its runs are found by their heartbeats.
 */
@Injectable()
export class LostWorkers implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(LostWorkers.name);
  private readonly looks = new PeriodicTask((signal) => this.look(signal), {
    pauseMs: LOOK_EVERY_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot look for lost workers'),
  });

  constructor(
    private readonly attempts: LostAttempts,
    private readonly queue: RunQueue,
  ) {}

  onApplicationBootstrap(): void {
    this.looks.start();
  }

  onApplicationShutdown(): void {
    void this.looks.stop();
  }

  private async look(signal: AbortSignal): Promise<void> {
    const suspects = await this.attempts.find();
    if (suspects.length === 0) return;
    await sleep(TAKES_LOCK_WITHIN_MS, undefined, { signal });
    for (const { runId, attempt } of await this.attempts.giveUp(suspects)) {
      this.logger.warn({ run_id: runId, attempt }, 'The worker of a run has died');
      await this.queue.wakeWorker();
    }
  }
}

/**
 * The times that follow from `RUN_LOCK_MS`, in which a worker that is stopped or cut off counts as dead. `WorkerLock`
 * notices the death of a process earlier, and does not depend on it.
 */
export function heartbeatTimes(runLockMs: number) {
  return {
    /** How often a worker writes the heartbeat of its attempts: three fit into `silentMs`. */
    beatEveryMs: runLockMs / 4,
    /** An attempt without a heartbeat for this long is lost. */
    silentMs: runLockMs * 0.75,
    /** How often a worker searches for runs that wait or are lost. */
    searchEveryMs: runLockMs / 6,
  };
}
