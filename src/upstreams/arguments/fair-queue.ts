/** A queue that alternates between owners, so that an owner with much work delays another by one item at a time. */
export class FairQueue<T> {
  /** By owner, in the order of their turns. Empty queues are removed. */
  private readonly queues = new Map<string, T[]>();
  private size = 0;

  constructor(private readonly limits: { total: number; perOwner: number }) {}

  /** Returns false if the queue is full. */
  add(owner: string, item: T): boolean {
    const queue = this.queues.get(owner) ?? [];
    if (this.size >= this.limits.total || queue.length >= this.limits.perOwner) return false;
    queue.push(item);
    this.queues.set(owner, queue);
    this.size++;
    return true;
  }

  /** Returns the next item; undefined if the queue is empty. */
  take(): T | undefined {
    const [turn] = this.queues;
    if (turn === undefined) return undefined;
    const [owner, queue] = turn;
    const item = queue.shift();
    this.queues.delete(owner);
    if (queue.length > 0) this.queues.set(owner, queue);
    this.size--;
    return item;
  }
}
