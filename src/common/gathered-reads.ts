/**
 * Reads values by key with a bounded number of queries at once. Keys that are asked for meanwhile wait and are read together
 * by the next query, so that a flood of them costs few queries, and a lone one does not wait.
 */
export class GatheredReads<T> {
  private waiting = new Map<string, PromiseWithResolvers<T | undefined>>();
  private running = 0;

  /**
   * @param readAll the values of those keys that there are
   * @param maxQueries how many queries may run at once
   * @param maxKeys how many keys one query may have
   */
  constructor(
    private readonly readAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
    private readonly maxQueries: number,
    private readonly maxKeys: number,
  ) {}

  /** The value, or undefined if there is none. Rejects as the query does. */
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
