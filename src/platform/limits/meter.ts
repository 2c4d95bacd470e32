import type { WindowCount } from '../database/window-counts.js';
import { WINDOW_S } from './quota-store.js';

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
/** The largest slice of the quota that a process leases at once, and the slice that it begins with. */
const LARGEST_SLICE = 1 / 100;
const FIRST_SLICE = 1 / 500;
/** Slices become smaller as the window empties: this part of what is left. */
const PART_OF_REST = 1 / 20;
/** A slice that was used up within this time is followed by one of twice the size. */
const QUICK_MS = 1_000;
/** A lease that was not used for this long is returned, except a small one. */
const IDLE_MS = 500;
/** Returning a lease that late could count in the next window. */
const TOO_LATE_TO_RETURN_MS = 1_000;
/** Another process can return what it leased, so an empty window is looked at again. */
const RECHECK_MS = 250;
/** While the store is unavailable, it is tried again after this time. */
const STORE_RETRY_MS = 1_000;

/**
 * Counts the requests of one key in windows of 60 s, in one process of several. It leases slices of the quota from the store and
 * counts them down in memory, so that few requests wait for a query. The leases of all processes never exceed the quota. A slice is
 * at most 1 % of the quota, and an unused one is returned: what stays unused while another process refuses is below 2 %. Quotas
 * below 200 are leased one by one and are exact.
 *
 * While the store is unavailable, this process alone enforces the whole quota, and reports what it counted afterwards.
 */
export class Meter {
  private limit = 0;
  private endsAt = 0;
  /** Leased and not used. */
  private held = 0;
  /** The count of the store when it last answered, including leases. */
  private count = 0;
  /** Refused, or counted while the store was unavailable: the store does not know of them. */
  private unreported = 0;
  private mustReport = false;
  /** Admitted in this window by this process. */
  private admitted = 0;
  private slice = 0;
  private leasedAt = 0;
  private usedAt = 0;
  /** Before this time, an empty window is not looked at again. */
  private refusesUntil = 0;
  private storeFailedAt = -STORE_RETRY_MS;
  private waiting: ((verdict: Verdict) => void)[] = [];
  private isLeasing = false;

  constructor(
    private readonly key: string,
    private readonly store: Counter,
    private readonly onStoreError: (error: unknown) => void,
  ) {}

  /**
   * Counts a request. Returns a promise only if quota has to be leased.
   * @param limit the current limit; a changed one applies at once to what the window has already counted
   */
  take(limit: number): Verdict | Promise<Verdict> {
    const now = Date.now();
    this.begin(now, limit);
    this.usedAt = now;
    if (!this.isLeasing) {
      if (this.held > 0) {
        this.held -= 1;
        this.admitted += 1;
        return this.verdict(true);
      }
      if (now < this.refusesUntil) {
        this.unreported += 1;
        return this.verdict(false);
      }
    }
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      if (!this.isLeasing) void this.lease();
    });
  }

  /** Returns what was leased and not used for a while. @param isClosing returns all of it */
  async returnUnused(isClosing = false): Promise<void> {
    const now = Date.now();
    const isIdle = now - this.usedAt >= IDLE_MS && this.held > this.limit * FIRST_SLICE;
    if (this.held === 0 || this.isLeasing || this.endsAt - now < TOO_LATE_TO_RETURN_MS) return;
    if (!isIdle && !isClosing) return;
    const returned = this.held;
    this.held = 0;
    this.slice = 0;
    const { endsAt } = this;
    const { count } = await this.store.add(this.key, -returned);
    if (this.endsAt === endsAt) this.count = count;
  }

  /** True if nothing is known any more that a new meter would not know. */
  isOver(now: number): boolean {
    return now >= this.endsAt && !this.isLeasing;
  }

  private begin(now: number, limit: number): void {
    if (now >= this.endsAt && !this.isLeasing) {
      this.endsAt = now + WINDOW_MS;
      this.held = this.count = this.unreported = this.admitted = this.slice = this.refusesUntil = 0;
      this.mustReport = false;
    }
    if (limit === this.limit) return;
    // The new limit applies to the whole window, so the lease under the old one ends, and the refused requests count.
    this.limit = limit;
    this.slice = this.refusesUntil = 0;
    this.unreported -= this.held;
    this.held = 0;
    this.mustReport = true;
  }

  /** Leases quota for the waiting requests until none waits. Requests that arrive meanwhile share the next lease. */
  private async lease(): Promise<void> {
    this.isLeasing = true;
    while (this.waiting.length > 0) {
      const asked = this.waiting;
      this.waiting = [];
      const granted = await this.leaseFor(asked.length);
      this.held += granted;
      for (const answer of asked) {
        const isAllowed = this.held > 0;
        if (isAllowed) {
          this.held -= 1;
          this.admitted += 1;
        }
        answer(this.verdict(isAllowed));
      }
      // Requests that arrived after the end of the quota need no further query.
      while (this.waiting.length > 0 && (this.held > 0 || Date.now() < this.refusesUntil)) {
        const isAllowed = this.held > 0;
        if (isAllowed) {
          this.held -= 1;
          this.admitted += 1;
        } else this.unreported += 1;
        this.waiting.shift()?.(this.verdict(isAllowed));
      }
    }
    this.isLeasing = false;
  }

  /** Returns how many requests of the lease are within the limit. Never rejects. */
  private async leaseFor(asked: number): Promise<number> {
    const now = Date.now();
    if (now - this.storeFailedAt < STORE_RETRY_MS) return this.grantAlone(asked);
    const limit = this.limit;
    const reported = this.mustReport ? this.unreported : 0;
    const wanted = Math.max(asked, this.nextSlice(now));
    try {
      const { count, endsInMs } = await this.store.add(this.key, reported + wanted);
      this.unreported -= reported;
      this.mustReport = limit !== this.limit;
      this.leasedAt = now;
      this.count = count;
      this.endsAt = Date.now() + endsInMs;
      const granted = Math.min(wanted, Math.max(0, limit - (count - wanted)));
      if (granted < wanted) {
        this.refusesUntil = Math.min(this.endsAt, Date.now() + RECHECK_MS);
        // What exceeds the limit and stands for no request does not count.
        this.unreported -= wanted - Math.max(asked, granted);
      }
      return granted;
    } catch (error) {
      this.onStoreError(error);
      this.storeFailedAt = Date.now();
      return this.grantAlone(asked);
    }
  }

  private grantAlone(asked: number): number {
    this.mustReport = true;
    this.unreported += asked;
    return Math.min(asked, Math.max(0, this.limit - this.admitted));
  }

  private nextSlice(now: number): number {
    const isQuick = this.slice > 0 && now - this.leasedAt < QUICK_MS;
    const rest = this.limit - this.count;
    const wished = isQuick ? this.slice * 2 : this.limit * FIRST_SLICE;
    const largest = Math.min(this.limit * LARGEST_SLICE, rest * PART_OF_REST);
    this.slice = Math.max(1, Math.floor(Math.min(wished, largest)));
    return this.slice;
  }

  private verdict(isAllowed: boolean): Verdict {
    // The count can include refused requests, which use up nothing.
    const rest = Math.min(this.limit - this.admitted, Math.max(this.held, this.limit - this.count + this.held));
    const remaining = isAllowed ? Math.max(0, rest) : 0;
    return { isAllowed, limit: this.limit, remaining, endsInMs: Math.max(0, this.endsAt - Date.now()) };
  }
}
