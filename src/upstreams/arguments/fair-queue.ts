/** A waiting line in which the owners take turns, so that one with much work delays another by one piece at a time. */
export class FairQueue<T> {
  /** In the order of their turns; none is empty. */
  private readonly lines = new Map<string, T[]>();
  private waiting = 0;

  constructor(private readonly limits: { total: number; perOwner: number }) {}

  /** False if no more can wait. */
  add(owner: string, item: T): boolean {
    const line = this.lines.get(owner) ?? [];
    if (this.waiting >= this.limits.total || line.length >= this.limits.perOwner) return false;
    line.push(item);
    this.lines.set(owner, line);
    this.waiting++;
    return true;
  }

  /** What is next; undefined if nothing waits. */
  take(): T | undefined {
    const [turn] = this.lines;
    if (turn === undefined) return undefined;
    const [owner, line] = turn;
    const item = line.shift();
    this.lines.delete(owner);
    if (line.length > 0) this.lines.set(owner, line);
    this.waiting--;
    return item;
  }
}
