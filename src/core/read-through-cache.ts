import { LRUCache } from 'lru-cache';
import { TtlCache, type WeightLimit } from './ttl-cache.js';

interface ReadThroughCacheOptions<T> {
  /** How long a value is valid, in milliseconds from the start of its read. */
  readonly ttlMs: number;
  readonly maxEntries: number;
  /** How many keys without a value are cached, for as long as values are; none by default. */
  readonly maxMissing?: number;
  readonly weight?: WeightLimit<T>;
  /** The maximum number of concurrent queries, and of keys per query. */
  readonly maxQueries: number;
  readonly maxKeysPerQuery: number;
}

/**
 * Looks up values by key, for callers that can request any number of unknown keys. Cached values are returned
 * synchronously; a bounded number of queries reads all others. Keys without a value never evict keys with one.
 */
export class ReadThroughCache<T> {
  private readonly found: TtlCache<T | undefined>;
  private readonly missing: LRUCache<string, true> | undefined;
  private readonly reads: GatheredReads<T>;

  /** @param readAll returns the values of the keys that have one */
  constructor(
    readAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
    { ttlMs, maxEntries, maxMissing, weight, maxQueries, maxKeysPerQuery }: ReadThroughCacheOptions<T>,
  ) {
    this.found = new TtlCache<T | undefined>({
      ttlMs,
      maxEntries,
      ...(weight !== undefined && {
        weight: { max: weight.max, of: (value) => (value === undefined ? 0 : weight.of(value)) },
      }),
      divert: (key, value) => {
        if (value === undefined) this.missing?.set(key, true);
        return value === undefined;
      },
    });
    if (maxMissing !== undefined) this.missing = new LRUCache({ max: maxMissing, ttl: ttlMs, ttlResolution: 0 });
    this.reads = new GatheredReads(readAll, maxQueries, maxKeysPerQuery);
  }

  /** The value, or undefined if there is none; a promise while it is being read. Rejects as the query does. */
  get(key: string): T | undefined | Promise<T | undefined> {
    if (this.missing?.has(key) === true) return undefined;
    return this.found.get(key, () => this.reads.read(key));
  }

  /** The key's value may have changed: the next look-up reads it again. */
  forget(key: string): void {
    this.found.forget(key);
    this.missing?.delete(key);
  }
}

/**
 * Reads values by key with a bounded number of concurrent queries. Keys requested meanwhile are queued and read
 * together by the next query, so that a flood of keys costs few queries and a single key does not wait.
 */
class GatheredReads<T> {
  private readonly waiting = new Map<string, PromiseWithResolvers<T | undefined>>();
  private running = 0;

  constructor(
    private readonly readAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
    private readonly maxQueries: number,
    private readonly maxKeys: number,
  ) {}

  read(key: string): Promise<T | undefined> {
    const known = this.waiting.get(key);
    if (known !== undefined) return known.promise;
    const pending = Promise.withResolvers<T | undefined>();
    this.waiting.set(key, pending);
    this.start();
    return pending.promise;
  }

  private start(): void {
    if (this.running >= this.maxQueries || this.waiting.size === 0) return;
    const batch = new Map([...this.waiting].slice(0, this.maxKeys));
    for (const key of batch.keys()) this.waiting.delete(key);
    this.running++;
    this.readAll([...batch.keys()])
      .then(
        (found) => batch.forEach(({ resolve }, key) => resolve(found.get(key))),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        this.running--;
        this.start();
      });
  }
}
