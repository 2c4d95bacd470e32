/** The weights of what a value consists of. Parts that several values of a holder have in common count once. */
export type PartWeights = ReadonlyMap<object, number>;

interface FairCacheOptions<T> {
  readonly maxEntries: number;
  /** Of all parts together. */
  readonly maxWeight: number;
  /** True while a value must not be evicted. */
  readonly isInUse?: (value: T) => boolean;
}

interface Entry<T> {
  readonly value: T;
  readonly holder: string;
  readonly holding: Holding;
  readonly parts: PartWeights;
}

/** What a holder has. */
interface Holding {
  count: number;
  weight: number;
  /** How many values have each part. */
  readonly uses: Map<object, number>;
}

const NO_PARTS: PartWeights = new Map();

/**
 * A cache in which holders, such as organizations, do not displace each other: the least recently used value of the
 * holder that has the most is evicted. The value that was stored last stays, whatever it weighs.
 */
export class FairCache<T> {
  /** Least recently used first. */
  private readonly entries = new Map<string, Entry<T>>();
  private readonly holdings = new Map<string, Holding>();
  private weight = 0;

  constructor(private readonly options: FairCacheOptions<T>) {}

  get(key: string): T | undefined {
    return this.entries.get(key)?.value;
  }

  /** The same, and makes it the most recently used. */
  use(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  *values(): Iterable<T> {
    for (const { value } of this.entries.values()) yield value;
  }

  /** Stores the value as the most recently used, and evicts others if needed. */
  set(key: string, holder: string, value: T, parts = NO_PARTS): void {
    this.delete(key);
    const holding = this.holdings.get(holder) ?? { count: 0, weight: 0, uses: new Map() };
    this.holdings.set(holder, holding);
    this.entries.set(key, { value, holder, holding, parts });
    holding.count++;
    for (const [part, weight] of parts) {
      const uses = holding.uses.get(part) ?? 0;
      holding.uses.set(part, uses + 1);
      if (uses === 0) this.add(holding, weight);
    }
    while (this.isFull) {
      const surplus = this.findSurplus(key);
      if (surplus === undefined) return;
      this.delete(surplus);
    }
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    const { holder, holding, parts } = entry;
    this.entries.delete(key);
    if (--holding.count === 0) this.holdings.delete(holder);
    for (const [part, weight] of parts) {
      const uses = (holding.uses.get(part) ?? 0) - 1;
      if (uses > 0) holding.uses.set(part, uses);
      else holding.uses.delete(part);
      if (uses === 0) this.add(holding, -weight);
    }
  }

  private add(holding: Holding, weight: number): void {
    holding.weight += weight;
    this.weight += weight;
  }

  private get hasTooMany(): boolean {
    return this.entries.size > this.options.maxEntries;
  }

  private get isFull(): boolean {
    return this.hasTooMany || this.weight > this.options.maxWeight;
  }

  private findSurplus(latest: string): string | undefined {
    const measure = this.hasTooMany ? 'count' : 'weight';
    let found: string | undefined;
    let most = -1;
    for (const [key, { holding, value }] of this.entries) {
      const held = holding[measure];
      if (held <= most || key === latest || this.options.isInUse?.(value) === true) continue;
      found = key;
      most = held;
    }
    return found;
  }
}
