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
  /** Least recently used first. */
  readonly keys: Set<string>;
  weight: number;
  /** How many values have each part. */
  readonly uses: Map<object, number>;
}

const NO_PARTS: PartWeights = new Map();

/**
 * A cache in which holders, such as organizations, do not displace each other: the least recently used value of the
 * holder that has the most is evicted. The value that was stored last stays, whatever it weighs, and then those of
 * other holders do too.
 */
export class FairCache<T> {
  private readonly entries = new Map<string, Entry<T>>();
  /** By holder; the one that used or stored a value least recently is the first. */
  private readonly holdings = new Map<string, Holding>();
  private weight = 0;

  constructor(private readonly options: FairCacheOptions<T>) {}

  get(key: string): T | undefined {
    return this.entries.get(key)?.value;
  }

  /** Returns the value and makes it the most recently used. */
  use(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.moveToEnd(key, entry);
    return entry.value;
  }

  *values(): Iterable<T> {
    for (const { value } of this.entries.values()) yield value;
  }

  /** Stores the value as the most recently used, and evicts others if needed. */
  set(key: string, holder: string, value: T, parts = NO_PARTS): void {
    this.delete(key);
    const holding = this.holdings.get(holder) ?? { keys: new Set(), weight: 0, uses: new Map() };
    const entry = { value, holder, holding, parts };
    this.entries.set(key, entry);
    this.moveToEnd(key, entry);
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
    holding.keys.delete(key);
    if (holding.keys.size === 0) this.holdings.delete(holder);
    for (const [part, weight] of parts) {
      const uses = (holding.uses.get(part) ?? 0) - 1;
      if (uses > 0) holding.uses.set(part, uses);
      else holding.uses.delete(part);
      if (uses === 0) this.add(holding, -weight);
    }
  }

  private moveToEnd(key: string, { holder, holding }: Entry<T>): void {
    holding.keys.delete(key);
    holding.keys.add(key);
    this.holdings.delete(holder);
    this.holdings.set(holder, holding);
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

  /** Undefined if the holder that has the most has nothing else to give. */
  private findSurplus(latest: string): string | undefined {
    const measure = this.hasTooMany ? ({ keys }: Holding) => keys.size : ({ weight }: Holding) => weight;
    let greediest: Holding | undefined;
    for (const holding of this.holdings.values()) {
      if (greediest === undefined || measure(holding) > measure(greediest)) greediest = holding;
    }
    for (const key of greediest?.keys ?? []) {
      const entry = this.entries.get(key);
      if (key !== latest && entry !== undefined && this.options.isInUse?.(entry.value) !== true) return key;
    }
    return undefined;
  }
}
