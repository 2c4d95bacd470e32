import { type Claim, type Limit, Shares, type Account, type Holder } from './shares.js';

interface Line<T> {
  /** In the order of arrival. */
  readonly items: T[];
  /** In the order of their turns. */
  readonly members: Map<string, Line<T>>;
}

/**
 * What waits, in lines by holder. At each level of their paths, holders take turns, so that one with many items delays
 * another by one item at a time.
 */
export class TurnQueue<T extends { readonly holder: Holder }> {
  private readonly root: Line<T> = newLine();

  get isEmpty(): boolean {
    return this.root.members.size === 0;
  }

  /** True if an item of this holder waits. */
  has(holder: Holder): boolean {
    let line: Line<T> | undefined = this.root;
    for (const name of holder) line = line?.members.get(name);
    return line !== undefined;
  }

  add(item: T): void {
    let line = this.root;
    for (const name of item.holder) {
      const member = line.members.get(name) ?? newLine();
      line.members.set(name, member);
      line = member;
    }
    line.items.push(item);
  }

  /** Its holder keeps its turn. Returns false if the item does not wait. */
  delete(item: T): boolean {
    return removeFrom(this.root, item, false);
  }

  /**
   * Takes the next item out; undefined if none can be served that is the first of its line.
   * @param serve returns false if the item cannot be served now
   * @param account holders who have less of it come first, whoever's turn it is
   */
  next(serve: (item: T) => boolean = () => true, account?: Account): T | undefined {
    const item = findIn(this.root, serve, account);
    if (item !== undefined) removeFrom(this.root, item, true);
    return item;
  }
}

function newLine<T>(): Line<T> {
  return { items: [], members: new Map() };
}

function findIn<T>({ items, members }: Line<T>, serve: (item: T) => boolean, account?: Account): T | undefined {
  const [first] = items;
  if (first !== undefined) return serve(first) ? first : undefined;
  const heldBy = (name: string): number => account?.members.get(name)?.held ?? 0;
  const inTurn = account === undefined ? members : [...members].sort(([a], [b]) => heldBy(a) - heldBy(b));
  for (const [name, member] of inTurn) {
    const found = findIn(member, serve, account?.members.get(name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function removeFrom<T extends { readonly holder: Holder }>(
  line: Line<T>,
  item: T,
  isServed: boolean,
  level = 0,
): boolean {
  const name = item.holder[level];
  if (name === undefined) {
    const index = line.items.indexOf(item);
    return index >= 0 && line.items.splice(index, 1).length > 0;
  }
  const member = line.members.get(name);
  if (member === undefined || !removeFrom(member, item, isServed, level + 1)) return false;
  const isEmpty = member.items.length === 0 && member.members.size === 0;
  // A member that is added again is the last.
  if (isServed || isEmpty) line.members.delete(name);
  if (!isEmpty) line.members.set(name, member);
  return true;
}

export interface FairShareOptions {
  /** How many units there are. */
  readonly capacity: number;
  /** See `Shares`. */
  readonly limits: readonly Limit[];
  /** The places of claims that wait. */
  readonly places: Shares;
  /** How long a claim waits, in milliseconds; absent: until its turn. */
  readonly waitMs?: number;
  /** The error of a claim for which there is no place, or that has waited for too long. */
  readonly refusal: () => Error;
}

interface Waiter extends Claim {
  readonly admit: () => void;
}

/**
 * Shares for which claims wait. What becomes free goes to the waiting holder with the fewest units, so that none keeps
 * the others from theirs; those with equally many take turns.
 */
export class FairShare extends Shares {
  private readonly queue = new TurnQueue<Waiter>();

  constructor(private readonly options: FairShareOptions) {
    super(options.capacity, options.limits);
  }

  /**
   * Units that every claim gets in its turn, however long that takes and however many wait.
   * @param limits see `Shares`
   */
  static ofTurns(capacity: number, limits: readonly Limit[] = []): FairShare {
    const refusal = (): Error => new Error('A claim without a limit was refused.');
    return new FairShare({ capacity, limits, places: new Shares(Infinity), refusal });
  }

  /**
   * Waits until the holder's share has the units. Give them back.
   * @param signal ends the wait
   * @throws the refusal of this share, or the reason of the signal
   */
  async take(claim: Claim, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.queue.has(claim.holder) && this.tryTake(claim)) return;
    const { places, waitMs, refusal } = this.options;
    const place = { holder: claim.holder };
    if (!places.tryTake(place)) throw refusal();
    const { promise, resolve: admit, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { ...claim, admit };
    this.queue.add(waiter);
    const giveUp = (reason: unknown): void => {
      if (!this.queue.delete(waiter)) return;
      reject(reason as Error);
      this.admitWaiting();
    };
    const timer = waitMs === undefined ? undefined : setTimeout(() => giveUp(refusal()), waitMs);
    const onAbort = (): void => giveUp(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      places.giveBack(place);
    }
  }

  /** Does work that needs one unit, in its turn. Work that has started keeps its unit until it has ended. */
  async within<T>(holder: Claim['holder'], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const claim = { holder };
    await this.take(claim, signal);
    try {
      return await work();
    } finally {
      this.giveBack(claim);
    }
  }

  override giveBack(claim: Claim): void {
    super.giveBack(claim);
    this.admitWaiting();
  }

  private admitWaiting(): void {
    while (!this.queue.isEmpty) {
      const admitted = this.queue.next((waiter) => this.tryTake(waiter), this.root);
      if (admitted === undefined) return;
      admitted.admit();
    }
  }
}
