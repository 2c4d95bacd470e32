import { LRUCache } from 'lru-cache';

interface TtlCacheOptions<T> {
  /** How long a value is valid, in milliseconds from the start of its read; by default until it is evicted. */
  readonly ttlMs?: number;
  /** Above this number of keys, the least recently used one is evicted. */
  readonly maxEntries: number;
  /**
   * The same for the total weight; without it, values have no weight. A value that exceeds the limit alone is not
   * cached.
   */
  readonly weight?: WeightLimit<T>;
  /** Receives a value that was read, in place of this cache: the value is not cached here when this returns true. */
  readonly divert?: (key: string, value: T) => boolean;
}

/** Limits a cache by the weight of its values. */
export interface WeightLimit<T> {
  readonly max: number;
  readonly of: (value: T) => number;
}

/** A read in progress, or its value. */
type Entry<T> = { readonly reading: Promise<T> } | { readonly reading: undefined; readonly value: T };

/**
 * Caches look-ups for a short time. Concurrent look-ups of the same key share one read; a failed read is not cached.
 */
export class TtlCache<T> {
  private readonly entries: LRUCache<string, Entry<T>>;
  private readonly weightOf: ((value: T) => number) | undefined;
  private readonly divert: TtlCacheOptions<T>['divert'];

  constructor({ ttlMs = 0, maxEntries, weight, divert }: TtlCacheOptions<T>) {
    this.weightOf = weight?.of;
    this.divert = divert;
    this.entries = new LRUCache({
      max: maxEntries,
      ttl: ttlMs,
      // The clock on which `start` is read.
      perf: { now: () => performance.now() },
      // Otherwise the cache sets a timer that wakes the thread after each look-up.
      ttlResolution: 0,
      // Each entry weighs at least 1.
      ...(weight !== undefined && { maxSize: weight.max + maxEntries, maxEntrySize: weight.max + 1 }),
    });
  }

  /**
   * The value, or a promise while it is being read: awaiting a cached value costs a busy service more than finding it.
   * Rejects as `read` does.
   */
  get(key: string, read: () => Promise<T>): T | Promise<T> {
    const known = this.entries.get(key);
    if (known !== undefined) return known.reading ?? known.value;
    const start = performance.now();
    const entry = { reading: read() };
    const kept = unsliceString(key);
    this.keep(kept, entry, start);
    entry.reading.then(
      (value) => this.entries.peek(kept, { allowStale: true }) === entry && this.settle(kept, value, start),
      () => this.entries.peek(kept, { allowStale: true }) === entry && this.forget(kept),
    );
    return entry.reading;
  }

  /** Callers that await a read in progress still get its value; later look-ups do not. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Removes every key for which this returns true. */
  forgetWhere(isForgotten: (key: string) => boolean): void {
    for (const key of [...this.entries.keys()].filter(isForgotten)) this.forget(key);
  }

  private settle(key: string, value: T, start: number): void {
    if (this.divert?.(key, value) === true) this.forget(key);
    else this.keep(key, { reading: undefined, value }, start, this.weightOf?.(value));
  }

  private keep(key: string, entry: Entry<T>, start: number, weight = 0): void {
    this.entries.set(key, entry, { start, ...(this.weightOf !== undefined && { size: 1 + weight }) });
  }
}

/**
 * A copy for keeping. V8 only points from a part of a text to the whole of it, so that an id that is remembered would
 * keep the path alive that it came in, 16 KiB of it if the caller likes.
 */
export function unsliceString(text: string): string {
  return structuredClone(text);
}
