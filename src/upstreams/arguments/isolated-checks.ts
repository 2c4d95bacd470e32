import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, Shares } from '../../core/sharing/shares.js';
import { type CheckAnswer, CheckOverrun, CheckThread, type NamedSchema } from './check-thread.js';
import { type ArgumentVerdict, verdictOn, unusable } from './argument-verdict.js';

/** A schema that is checked on the thread. */
export interface IsolatedSchema extends NamedSchema {
  /** Set once it is known that the schema cannot be used at all. */
  unusable?: ArgumentVerdict | undefined;
  /** When the quarantine of the schema ends, on the monotonic clock; absent: it never missed the deadline. */
  quarantinedUntil?: number;
}

/** Time limits in milliseconds. */
export interface IsolationTimes {
  /** Of one check, which includes compiling its schema: half by the clock, and half as processor time. */
  deadline: number;
  /** How long a schema that missed the deadline is not used. */
  quarantine: number;
  /** How long a check can be queued before it is given up. */
  maxWait: number;
}

/** How many checks can be queued, in all and of one organization. */
const PLACES = { total: 2_048, perOrganization: 512 };
/** How many checks of one owner can miss the deadline within the time of a quarantine. */
const MAX_MISSES = 2;
const MAX_OWNERS = 10_000;
/** The pause between two attempts to start the thread. */
const RESTART_PAUSE_MS = 100;

const BUSY: ArgumentVerdict = { outcome: 'busy' };
const QUEUE_FULL = new Error('Too many checks are queued.');
const TOO_DEEP = verdictOn([{ path: '', code: 'depth', message: 'must not be nested so deeply' }]);
const TOO_SLOW = unusable('a check against it takes too long');
const QUARANTINED = unusable('a check against it took too long, so it is not used for a while');
const OWNER_QUARANTINED = unusable(
  'checks against schemas of its owner took too long too often, so none is used for a while',
);

/**
 * Performs checks that could block the event loop, one at a time on a thread on which organizations take turns. A
 * check that misses the deadline is given up, and its schema is quarantined; after a few such checks, all schemas of
 * their owner are. Another organization therefore waits for one deadline at most before each of its checks.
 */
export class IsolatedChecks {
  private readonly turns = new FairShare({
    capacity: 1,
    limits: [],
    places: new Shares(PLACES.total, [atMost(PLACES.perOrganization)]),
    refusal: () => QUEUE_FULL,
  });
  private readonly thread: CheckThread;
  private readonly misses: LRUCache<string, number>;

  constructor(private readonly times: IsolationTimes) {
    this.thread = new CheckThread(times.deadline);
    this.misses = new LRUCache({ max: MAX_OWNERS, ttl: times.quarantine });
  }

  /** @param of whose schema it is; organizations take turns on the thread */
  async validateInIsolation(
    schema: IsolatedSchema,
    args: unknown,
    { owner, organization }: { readonly owner: string; readonly organization: string },
  ): Promise<ArgumentVerdict> {
    const queuedAt = performance.now();
    try {
      return await this.turns.within(
        [organization],
        async () => this.refusalOf(schema, owner, queuedAt) ?? (await this.perform(schema, args, owner)),
      );
    } catch (error) {
      if (error !== QUEUE_FULL) throw error;
      return BUSY;
    }
  }

  /** Ends the thread. Queued and later checks resolve with `busy`. */
  close(): Promise<void> {
    return this.thread.close();
  }

  private refusalOf(schema: IsolatedSchema, owner: string, queuedAt: number): ArgumentVerdict | undefined {
    const now = performance.now();
    if (schema.unusable !== undefined) return schema.unusable;
    if ((schema.quarantinedUntil ?? 0) > now) return QUARANTINED;
    if ((this.misses.get(owner) ?? 0) >= MAX_MISSES) return OWNER_QUARANTINED;
    return now - queuedAt > this.times.maxWait ? BUSY : undefined;
  }

  private async perform(schema: IsolatedSchema, args: unknown, owner: string): Promise<ArgumentVerdict> {
    const text = textOf(args);
    if (text === undefined) return TOO_DEEP;
    try {
      return verdictFrom(await this.thread.validateInThread(schema, text), schema);
    } catch (error) {
      if (error instanceof CheckOverrun) {
        schema.quarantinedUntil = performance.now() + this.times.quarantine;
        this.misses.set(owner, (this.misses.get(owner) ?? 0) + 1);
        return TOO_SLOW;
      }
      if (!this.thread.isClosed) await sleep(RESTART_PAUSE_MS);
      return BUSY;
    }
  }
}

function verdictFrom(answer: CheckAnswer, schema: IsolatedSchema): ArgumentVerdict {
  if (answer.kind === 'checked') return verdictOn(answer.faults);
  const verdict = unusable(answer.reason);
  if (answer.kind === 'invalid') schema.unusable = verdict;
  return verdict;
}

/** Undefined for a value that is too deep to serialize. */
function textOf(args: unknown): string | undefined {
  try {
    return JSON.stringify(args) ?? 'null';
  } catch {
    return undefined;
  }
}
