import { LRUCache } from 'lru-cache';

export interface TtlCacheOptions<T> {
  /** How long a value may be used, in milliseconds from the beginning of its reading; until it is evicted unless given. */
  readonly ttlMs?: number;
  /** Beyond so many keys, the least recently used one is evicted. */
  readonly maxEntries: number;
  /** The same beyond so much weight; without it all values weigh nothing. A value that is too heavy alone is not kept. */
  readonly weight?: WeightLimit<T>;
  /** Takes a value that was read elsewhere instead: it is not kept here when this returns true. */
  readonly divert?: (key: string, value: T) => boolean;
}

/** Bounds a cache by what its values weigh. */
export interface WeightLimit<T> {
  readonly max: number;
  readonly of: (value: T) => number;
}

/** A reading under way, or the value that it found. */
type Entry<T> = { readonly reading: Promise<T> } | { readonly reading: undefined; readonly value: T };

/**
 * Caches what was looked up, for a short time. Look-ups of the same key at the same time share one reading; one that fails is
 * not cached.
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
      // Otherwise the cache sets a timer that wakes the thread up after each look-up.
      ttlResolution: 0,
      // Each entry weighs at least 1.
      ...(weight !== undefined && { maxSize: weight.max + maxEntries, maxEntrySize: weight.max + 1 }),
    });
  }

  /**
   * The value, or a promise of it while it is being read: waiting for what is there costs a busy service more than finding
   * it. Rejects as `read` does.
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

  /** Whoever waits for a reading under way still gets what it finds; later look-ups do not. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Forgets every key of which this holds. */
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
 * A copy for keeping. V8 only points from a part of a text to the whole of it, so that an id that is remembered would keep
 * the path alive that it came in, 16 KiB of it if the caller likes.
 */
export function unsliceString(text: string): string {
  return structuredClone(text);
}
