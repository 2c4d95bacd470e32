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
