import { type Claim, type Limit, Shares } from './shares.js';
import { TurnQueue } from './turn-queue.js';

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
