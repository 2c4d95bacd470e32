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

/** Milliseconds that checks may take. */
export interface IsolationTimes {
  /** On the quick lane; what takes longer goes on to the slow one. */
  quick: CheckTimes;
  /** On the slow lane; what takes longer is given up. */
  slow: CheckTimes;
  /** An owner that ran over the quick lane's time uses the slow one for so long. */
  demotion: number;
  /** What a schema may owe by checks that were given up, before it goes into quarantine. */
  tolerance: number;
  /** After so long in the line a check is given up. */
  patience: number;
}

interface Job {
  schema: IsolatedSchema;
  args: unknown;
  owner: string;
  /** The arguments as JSON text, made when their turn comes. */
  text?: string;
  since: number;
  settle: (verdict: ArgumentVerdict) => void;
}

const WAITING = { total: 2_048, perOwner: 512 };
/** Between two attempts to start a thread that does not start. */
const RESTART_PAUSE_MS = 100;

const BUSY: ArgumentVerdict = { outcome: 'busy' };
const TOO_DEEP = verdictOn([{ path: '', code: 'depth', message: 'must not be nested so deeply' }]);
const TOO_SLOW = unusable('checking these arguments against it takes too long');
const QUARANTINED = unusable('checking arguments against it took too long too often, so it is not used for a while');

/**
 * Checks that could hold up the event loop, on two threads. Every owner starts on the quick lane, whose checks get so
 * little time that they hardly delay each other, and moves to the slow lane for a while when one of its checks takes
 * longer. On each lane owners take turns. So a hostile schema costs others one quick slice, and the caller its answer.
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

  /** @param owner whose schema it is; owners share the threads fairly */
  check(schema: IsolatedSchema, args: unknown, owner: string): Promise<ArgumentVerdict> {
    return new Promise((settle) => {
      const job: Job = { schema, args, owner, since: performance.now(), settle };
      const lane = this.isDemoted(owner) ? this.slow : this.quick;
      if (!lane.add(job)) settle(BUSY);
    });
  }

  /** Ends the threads; what waits or comes later is told `busy`. */
  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.close()));
  }

  private async performQuickly(job: Job, thread: CheckThread): Promise<void> {
    // What an owner had in this line before its demotion moves on with it.
    if (this.isDemoted(job.owner)) this.handOn(job);
    else await this.perform(job, thread, () => this.demote(job));
  }

  private async perform(job: Job, thread: CheckThread, onOverrun: (spent: number) => void): Promise<void> {
    const { schema, settle } = job;
    const now = performance.now();
    if (schema.unusable !== undefined) return settle(schema.unusable);
    if (schema.quarantine.holds(now)) return settle(QUARANTINED);
    if (now - job.since > this.times.patience) return settle(BUSY);
    const text = (job.text ??= textOf(job.args));
    if (text === undefined) return settle(TOO_DEEP);
    try {
      settle(this.verdictOf(await thread.check(schema, text), schema));
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
    this.handOn(job);
  }

  private handOn(job: Job): void {
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

/** Works off what waits, one at a time. */
class Lane {
  private readonly queue = new FairQueue<Job>(WAITING);
  private working = false;

  /** @param work must not reject */
  constructor(private readonly work: (job: Job) => Promise<void>) {}

  /** False if no more can wait. */
  add(job: Job): boolean {
    const isTaken = this.queue.add(job.owner, job);
    if (isTaken && !this.working) void this.run();
    return isTaken;
  }

  private async run(): Promise<void> {
    this.working = true;
    for (let job = this.queue.take(); job !== undefined; job = this.queue.take()) await this.work(job);
    this.working = false;
  }
}

/** Undefined for a value so deep that it cannot be written. */
function textOf(args: unknown): string | undefined {
  try {
    return JSON.stringify(args) ?? 'null';
  } catch {
    return undefined;
  }
}
