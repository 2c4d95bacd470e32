import { unsliceString } from './unslice-string.js';

interface Entry<T> {
  readonly at: number;
  readonly reading: Promise<T>;
  found?: { readonly value: T };
  weight: number;
}

/** Bounds a memory by what its values weigh. */
export interface WeightLimit<T> {
  readonly max: number;
  readonly of: (value: T) => number;
}

/**
 * Remembers what was looked up, for a short time. Look-ups of the same key at the same time share one reading; one that
 * fails is not remembered.
 */
export class BriefMemory<T> {
  private readonly entries = new Map<string, Entry<T>>();
  private weight = 0;

  /**
   * @param believedMs how long what was read may be used, from the beginning of its reading, in milliseconds
   * @param maxEntries beyond so many keys the one that was read first is forgotten
   * @param limit the same beyond so much weight; without it all values weigh nothing
   */
  constructor(
    private readonly believedMs: number,
    private readonly maxEntries: number,
    private readonly limit?: WeightLimit<T>,
  ) {}

  /**
   * What is remembered; a promise only while it is being read, because waiting for what is there costs a busy service more than
   * finding it. Rejects as `read` does.
   */
  get(key: string, read: () => Promise<T>): T | Promise<T> {
    const now = performance.now();
    const known = this.entries.get(key);
    if (known !== undefined && now - known.at < this.believedMs) return known.found ? known.found.value : known.reading;
    const entry: Entry<T> = { at: now, reading: read(), weight: 0 };
    this.keep(unsliceString(key), entry);
    entry.reading.then(
      (value) => this.settle(key, entry, value),
      () => this.entries.get(key) === entry && this.entries.delete(key),
    );
    return entry.reading;
  }

  /** Is a value remembered? */
  has(key: string): boolean {
    const known = this.entries.get(key);
    return known?.found !== undefined && performance.now() - known.at < this.believedMs;
  }

  /** Remembers what was found in another way. */
  set(key: string, value: T): void {
    const entry: Entry<T> = { at: performance.now(), reading: Promise.resolve(value), weight: 0 };
    this.keep(unsliceString(key), entry);
    this.settle(key, entry, value);
  }

  /** Whoever waits for a reading under way still gets what it finds; those who come later do not. */
  forget(key: string): void {
    this.weight -= this.entries.get(key)?.weight ?? 0;
    this.entries.delete(key);
  }

  private settle(key: string, entry: Entry<T>, value: T): void {
    entry.found = { value };
    if (this.limit === undefined || this.entries.get(key) !== entry) return;
    entry.weight = this.limit.of(value);
    this.weight += entry.weight;
    for (const oldest of this.entries.keys()) {
      if (this.weight <= this.limit.max) return;
      this.forget(oldest);
    }
  }

  private keep(key: string, entry: Entry<T>): void {
    this.forget(key);
    this.entries.set(key, entry);
    const [oldest = key] = this.entries.keys();
    if (this.entries.size > this.maxEntries) this.forget(oldest);
  }
}
