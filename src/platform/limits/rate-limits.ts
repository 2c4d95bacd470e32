import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PeriodicTask } from '../../core/periodic-task.js';
import { QuotaStore, WINDOW_S } from './quota-store.js';
import type { WindowCount } from '../database/window-counts.js';
import { DomainError } from '../../core/domain-error.js';

/** A limit that applies to a request. */
export interface RateLimit {
  /** The name in response headers. */
  readonly name: string;
  /** Whose requests count together. Unique over all kinds of limits. */
  readonly key: string;
  readonly perMinute: number;
}

/** A limit and what it says about a request. */
export interface AppliedLimit {
  readonly limit: RateLimit;
  readonly verdict: Verdict;
}

const SWEEP_EVERY_MS = 10_000;
/** Limits the memory for keys, because anonymous callers are counted by address. */
const MAX_METERS = 200_000;
const LOG_EVERY_MS = 10_000;

/** Counts requests against their limits, over all processes. */
@Injectable()
export class RateLimits implements OnApplicationShutdown {
  private readonly logger = new Logger(RateLimits.name);
  private readonly meters = new Map<string, Meter>();
  private loggedAt = -LOG_EVERY_MS;
  private readonly sweeps = new PeriodicTask(() => this.sweep(), {
    pauseMs: SWEEP_EVERY_MS,
    isNeeded: () => this.meters.size > 0,
    onError: (error) => this.reportStoreError(error),
  });

  constructor(private readonly store: QuotaStore) {}

  /**
   * Counts a request against all of these limits, also if one of them refuses it. Returns a promise only if a query is
   * needed. Never rejects.
   */
  count(limits: readonly RateLimit[]): readonly AppliedLimit[] | Promise<readonly AppliedLimit[]> {
    const verdicts = limits.map((limit) => this.meterOf(limit.key).take(limit.perMinute));
    const applied = (settled: readonly Verdict[]): readonly AppliedLimit[] =>
      limits.map((limit, index) => ({ limit, verdict: settled[index] as Verdict }));
    return verdicts.some((verdict) => verdict instanceof Promise)
      ? Promise.all(verdicts).then(applied)
      : applied(verdicts as Verdict[]);
  }

  onApplicationShutdown(): Promise<void> {
    return this.sweeps.stop();
  }

  private meterOf(key: string): Meter {
    const known = this.meters.get(key);
    if (known !== undefined) return known;
    const meter = new Meter(key, this.store, (error) => this.reportStoreError(error));
    const [oldest] = this.meters.size < MAX_METERS ? [] : this.meters.keys();
    if (oldest !== undefined) this.meters.delete(oldest);
    this.meters.set(key, meter);
    this.sweeps.start();
    return meter;
  }

  private async sweep(): Promise<void> {
    const now = Date.now();
    for (const [key, meter] of this.meters) {
      if (meter.isOver(now)) this.meters.delete(key);
    }
  }

  private reportStoreError(error: unknown): void {
    if (performance.now() - this.loggedAt < LOG_EVERY_MS) return;
    this.loggedAt = performance.now();
    this.logger.warn({ err: error }, 'The store of the rate limits is unavailable; each process enforces them alone');
  }
}

/** What a meter needs of `QuotaStore`. */
export interface Counter {
  add(key: string, requests: number): Promise<WindowCount>;
}

/** Whether a request is within its limit, and the state that response headers show. */
export interface Verdict {
  readonly isAllowed: boolean;
  readonly limit: number;
  /** Requests that are left in the window, as far as this process knows. */
  readonly remaining: number;
  /** The time until the window ends, in milliseconds. */
  readonly endsInMs: number;
}

const WINDOW_MS = WINDOW_S * 1000;
/** While the store is unavailable, it is tried again after this time. */
const STORE_RETRY_MS = 1_000;

/**
 * Counts the requests of one key in windows of 60 s, in one process of several. The store counts each request before it
 * is answered, so the quota is exact over all processes. Requests that arrive during a query share the next one: a key
 * occupies one connection at most. Once the quota is used up, requests are refused without a query.
 *
 * While the store is unavailable, this process alone enforces the whole quota, and reports what it counted afterwards.
 */
export class Meter {
  private endsAt = 0;
  /** The count of all processes when the store last answered. */
  private count = 0;
  /** Refused without a query, or counted while the store was unavailable: the store does not know of them. */
  private unreported = 0;
  /** Admitted in this window by this process. */
  private admitted = 0;
  private storeFailedAt = -STORE_RETRY_MS;
  private waiting: { readonly limit: number; readonly answer: (verdict: Verdict) => void }[] = [];
  private isCounting = false;

  constructor(
    private readonly key: string,
    private readonly store: Counter,
    private readonly onStoreError: (error: unknown) => void,
  ) {}

  /**
   * Counts a request. Returns a promise unless the quota is used up.
   * @param limit the current limit; a changed one applies at once to what the window has already counted
   */
  take(limit: number): Verdict | Promise<Verdict> {
    if (!this.isCounting) {
      this.beginWindow();
      if (this.count >= limit) return this.refuse(limit);
    }
    return new Promise((answer) => {
      this.waiting.push({ limit, answer });
      if (!this.isCounting) void this.countWaiting();
    });
  }

  /** True if nothing is known any more that a new meter would not know. */
  isOver(now: number): boolean {
    return now >= this.endsAt && !this.isCounting;
  }

  private beginWindow(): void {
    const now = Date.now();
    if (now < this.endsAt) return;
    this.endsAt = now + WINDOW_MS;
    this.count = this.unreported = this.admitted = 0;
  }

  /** Counts the waiting requests until none waits. Never rejects. */
  private async countWaiting(): Promise<void> {
    this.isCounting = true;
    while (this.waiting.length > 0) {
      const asked = this.waiting;
      this.waiting = [];
      const isStored = await this.report(asked.length);
      let place = this.count - asked.length;
      for (const { limit, answer } of asked) {
        place += 1;
        answer(isStored ? this.admit(place <= limit, limit, limit - place) : this.admitAlone(limit));
      }
    }
    this.isCounting = false;
  }

  /** Adds requests to the count of all processes. Returns false if the store is unavailable. */
  private async report(requests: number): Promise<boolean> {
    const askedAt = Date.now();
    if (askedAt - this.storeFailedAt < STORE_RETRY_MS) return false;
    const { unreported } = this;
    try {
      const { count, endsInMs } = await this.store.add(this.key, unreported + requests);
      this.unreported = 0;
      this.count = count;
      const endsAt = Date.now() + endsInMs;
      // The store has begun another window, perhaps before this process noticed the end of the last one.
      if (endsAt - this.endsAt > WINDOW_MS / 2) this.admitted = 0;
      this.endsAt = endsAt;
      return true;
    } catch (error) {
      this.onStoreError(error);
      this.storeFailedAt = Date.now();
      return false;
    }
  }

  private refuse(limit: number): Verdict {
    this.unreported += 1;
    return this.admit(false, limit, 0);
  }

  private admitAlone(limit: number): Verdict {
    this.unreported += 1;
    return this.admit(this.admitted < limit, limit, limit - this.admitted - 1);
  }

  private admit(isAllowed: boolean, limit: number, remaining: number): Verdict {
    if (isAllowed) this.admitted += 1;
    return { isAllowed, limit, remaining: Math.max(0, remaining), endsInMs: Math.max(0, this.endsAt - Date.now()) };
  }
}

const POLICY = 'ratelimit-policy';
const STATE = 'ratelimit';

/**
 * Adds the limits of a request to its response (draft-ietf-httpapi-ratelimit-headers-10). A request can have several.
 */
export function announceLimits(reply: FastifyReply, applied: readonly AppliedLimit[]): void {
  if (reply.raw.headersSent) return;
  for (const { limit, verdict } of applied) {
    append(reply, POLICY, `"${limit.name}";q=${limit.perMinute};w=${WINDOW_S}`);
    append(reply, STATE, `"${limit.name}";r=${verdict.remaining};t=${seconds(verdict.endsInMs)}`);
  }
}

/** The error for a request that one of the limits refuses; undefined if all admit it. */
export function refusalOf(applied: readonly AppliedLimit[]): DomainError | undefined {
  const refusing = applied.filter(({ verdict }) => !verdict.isAllowed);
  const [first] = refusing;
  if (first === undefined) return undefined;
  const wait = Math.max(1, ...refusing.map(({ verdict }) => seconds(verdict.endsInMs)));
  const detail = `The limit "${first.limit.name}" of ${first.limit.perMinute} per minute is reached. Retry in ${wait} seconds.`;
  return new DomainError('rate_limited', detail, [], { headers: { 'retry-after': String(wait) } });
}

function append(reply: FastifyReply, name: string, value: string): void {
  const present = reply.getHeader(name);
  void reply.header(name, present === undefined ? value : `${String(present)}, ${value}`);
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}
