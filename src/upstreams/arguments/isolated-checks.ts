import { setTimeout as sleep } from 'node:timers/promises';
import { type ArgumentVerdict, unusable, verdictOn } from './argument-verdict.js';
import type { CheckAnswer } from './check-message.js';
import { CheckOverrun, CheckThread, type CheckTimes, type NamedSchema } from './check-thread.js';
import { FairQueue } from './fair-queue.js';
import type { Quarantine } from './quarantine.js';

/** A schema that is checked on a thread. */
export interface IsolatedSchema extends NamedSchema {
  readonly quarantine: Quarantine;
  /** Set once it is known that the schema cannot be used at all. */
  unusable?: ArgumentVerdict;
}

/** Time limits in milliseconds. */
export interface IsolationTimes {
  /** For the quick lane; a check that exceeds them moves to the slow lane. */
  quick: CheckTimes;
  /** For the slow lane; a check that exceeds them is given up. */
  slow: CheckTimes;
  /** How long an owner that exceeded the quick lane's limits uses the slow lane. */
  demotion: number;
  /** The debt from given-up checks above which a schema is quarantined. */
  tolerance: number;
  /** How long a check can be queued before it is given up. */
  maxWait: number;
}

interface Job {
  schema: IsolatedSchema;
  args: unknown;
  owner: string;
  /** The arguments as JSON text, created when the check is performed. */
  text?: string;
  queuedAt: number;
  settle: (verdict: ArgumentVerdict) => void;
}

const QUEUE_LIMITS = { total: 2_048, perOwner: 512 };
/** The pause between two attempts to start a thread. */
const RESTART_PAUSE_MS = 100;

const BUSY: ArgumentVerdict = { outcome: 'busy' };
const TOO_DEEP = verdictOn([{ path: '', code: 'depth', message: 'must not be nested so deeply' }]);
const TOO_SLOW = unusable('checking these arguments against it takes too long');
const QUARANTINED = unusable('checking arguments against it took too long too often, so it is not used for a while');

/**
 * Performs checks that could block the event loop, on two threads. Every owner starts on the quick lane, whose checks get so
 * little time that they hardly delay each other. When one of its checks takes longer, the owner moves to the slow lane for a
 * while. Each lane alternates between owners, so a hostile schema costs other owners one quick check.
 */
export class IsolatedChecks {
  private readonly quick: Lane;
  private readonly slow: Lane;
  /** When each demotion ends, by owner, oldest first. */
  private readonly demoted = new Map<string, number>();
  private readonly threads: readonly CheckThread[];

  constructor(private readonly times: IsolationTimes) {
    const quick = new CheckThread(times.quick);
    const slow = new CheckThread(times.slow);
    this.threads = [quick, slow];
    this.quick = new Lane((job) => this.performQuickly(job, quick));
    this.slow = new Lane((job) => this.perform(job, slow, (spent) => this.giveUp(job, spent)));
  }

  /** @param owner of the schema; owners share the threads fairly */
  validateInIsolation(schema: IsolatedSchema, args: unknown, owner: string): Promise<ArgumentVerdict> {
    return new Promise((settle) => {
      const job: Job = { schema, args, owner, queuedAt: performance.now(), settle };
      const lane = this.isDemoted(owner) ? this.slow : this.quick;
      if (!lane.add(job)) settle(BUSY);
    });
  }

  /** Ends the threads. Queued and later checks resolve with `busy`. */
  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.close()));
  }

  private async performQuickly(job: Job, thread: CheckThread): Promise<void> {
    // The checks that the owner queued before its demotion move with it.
    if (this.isDemoted(job.owner)) this.moveToSlowLane(job);
    else await this.perform(job, thread, () => this.demote(job));
  }

  private async perform(job: Job, thread: CheckThread, onOverrun: (spent: number) => void): Promise<void> {
    const { schema, settle } = job;
    const now = performance.now();
    if (schema.unusable !== undefined) return settle(schema.unusable);
    if (schema.quarantine.isActive(now)) return settle(QUARANTINED);
    if (now - job.queuedAt > this.times.maxWait) return settle(BUSY);
    const text = (job.text ??= textOf(job.args));
    if (text === undefined) return settle(TOO_DEEP);
    try {
      settle(this.verdictOf(await thread.validateInThread(schema, text), schema));
    } catch (error) {
      if (error instanceof CheckOverrun) return onOverrun(error.spent);
      settle(BUSY);
      if (!thread.isClosed) await sleep(RESTART_PAUSE_MS);
    }
  }

  private verdictOf(answer: CheckAnswer, schema: IsolatedSchema): ArgumentVerdict {
    if (answer.kind === 'checked') return verdictOn(answer.faults);
    const verdict = unusable(answer.reason);
    if (answer.kind === 'invalid') schema.unusable = verdict;
    return verdict;
  }

  private demote(job: Job): void {
    this.demoted.delete(job.owner);
    this.demoted.set(job.owner, performance.now() + this.times.demotion);
    this.moveToSlowLane(job);
  }

  private moveToSlowLane(job: Job): void {
    if (!this.slow.add(job)) job.settle(BUSY);
  }

  private giveUp({ schema, settle }: Job, spent: number): void {
    schema.quarantine.charge(spent, performance.now());
    settle(TOO_SLOW);
  }

  private isDemoted(owner: string): boolean {
    const now = performance.now();
    for (const [demoted, until] of this.demoted) {
      if (until > now) break;
      this.demoted.delete(demoted);
    }
    return this.demoted.has(owner);
  }
}

/** Performs queued checks, one at a time. */
class Lane {
  private readonly queue = new FairQueue<Job>(QUEUE_LIMITS);
  private isRunning = false;

  /** @param work must not reject */
  constructor(private readonly work: (job: Job) => Promise<void>) {}

  /** Returns false if the queue is full. */
  add(job: Job): boolean {
    const isQueued = this.queue.add(job.owner, job);
    if (isQueued && !this.isRunning) void this.run();
    return isQueued;
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    for (let job = this.queue.take(); job !== undefined; job = this.queue.take()) await this.work(job);
    this.isRunning = false;
  }
}

/** Undefined for a value that is too deep to serialize. */
function textOf(args: unknown): string | undefined {
  try {
    return JSON.stringify(args) ?? 'null';
  } catch {
    return undefined;
  }
}
