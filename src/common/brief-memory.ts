import { detached } from './detached.js';

interface Entry<T> {
  readonly at: number;
  readonly reading: Promise<T>;
  found?: { readonly value: T };
}

/**
 * Remembers what was looked up, for a short time. Look-ups of the same key at the same time share one reading; one that
 * fails is not remembered.
 */
export class BriefMemory<T> {
  private readonly entries = new Map<string, Entry<T>>();

  /**
   * @param believedMs how long what was read may be used, from the beginning of its reading, in milliseconds
   * @param maxEntries beyond so many keys the one that was read first is forgotten
   */
  constructor(
    private readonly believedMs: number,
    private readonly maxEntries: number,
  ) {}

  /**
   * What is remembered; a promise only while it is being read, because waiting for what is there costs a busy service more than
   * finding it. Rejects as `read` does.
   */
  get(key: string, read: () => Promise<T>): T | Promise<T> {
    const now = performance.now();
    const known = this.entries.get(key);
    if (known !== undefined && now - known.at < this.believedMs) return known.found ? known.found.value : known.reading;
    const entry: Entry<T> = { at: now, reading: read() };
    this.keep(detached(key), entry);
    entry.reading.then(
      (value) => (entry.found = { value }),
      () => this.entries.get(key) === entry && this.entries.delete(key),
    );
    return entry.reading;
  }

  /** Whoever waits for a reading under way still gets what it finds; those who come later do not. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  private keep(key: string, entry: Entry<T>): void {
    this.entries.delete(key);
    this.entries.set(key, entry);
    const [oldest = key] = this.entries.keys();
    if (this.entries.size > this.maxEntries) this.entries.delete(oldest);
  }
}
