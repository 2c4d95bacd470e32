import { LRUCache } from 'lru-cache';

/** A program that ran this long counts as successfully started. */
const STABLE_MS = 60_000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** Beyond so many programs, the one that failed or was asked for longest ago is forgotten. */
const MAX_ENTRIES = 10_000;

interface Entry {
  failures: number;
  /** On the clock of `performance.now()`. */
  notBefore: number;
}

/** Delays the restart of failed programs: no delay after the first failure, then delays that double up to 30 s. */
export class RestartBackoff {
  private readonly entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Milliseconds until the next start is allowed; 0 if it is allowed now. */
  waitMs(key: string): number {
    return Math.max(0, (this.entries.get(key)?.notBefore ?? 0) - this.now());
  }

  /** @param ranMs how long it ran; 0 if it could not be started */
  failed(key: string, ranMs: number): void {
    const before = ranMs < STABLE_MS ? (this.entries.get(key)?.failures ?? 0) : 0;
    const delay = before === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(before - 1, 10));
    this.entries.set(key, { failures: before + 1, notBefore: this.now() + delay });
  }

  /** Ignores the last failure. */
  forgive(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) this.entries.set(key, { failures: Math.max(0, entry.failures - 1), notBefore: 0 });
  }

  /** Resets the failures of a program that was stopped on request. */
  succeeded(key: string): void {
    this.entries.delete(key);
  }
}
