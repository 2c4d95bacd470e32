/** Why a stream is not read: pages in other tabs have all places, or others of this page are read. */
export type Pause = 'tabs' | 'turn';

/** Calls `work` each time that the page has a place, until `work` returns or `signal` is aborted. */
export type HoldPlace = (signal: AbortSignal, work: (held: AbortSignal) => Promise<void>) => Promise<void>;

interface Reader {
  /** Reads on where it has stopped. Returns at the end of the stream, or when its turn ends. */
  readonly read: (turn: AbortSignal) => Promise<void>;
  /** Called with undefined when it is read again. */
  readonly onPaused: (why: Pause | undefined) => void;
}

interface Entry extends Reader {
  readonly signal: AbortSignal;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** One of the places that the page has, or waits for. */
interface Place {
  readonly leaving: AbortController;
  isHeld: boolean;
}

const TURN_MS = 2_000;

/**
 * Shares the page's places of a pool among its streams. With more streams than places, each is read for a while, then
 * the one that has waited longest: a stream that nothing comes on for hours stops none of the others.
 */
export class Turns {
  readonly #waiting: Entry[] = [];
  readonly #places = new Set<Place>();

  constructor(
    private readonly max: number,
    private readonly holdPlace: HoldPlace,
    private readonly turnMs = TURN_MS,
  ) {}

  /** Reads a stream to its end. @throws what `read` throws in its turn */
  async take(reader: Reader, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve, reject) => {
      const entry: Entry = { ...reader, signal, resolve, reject };
      signal.addEventListener('abort', () => this.#remove(entry), { once: true });
      this.#waiting.push(entry);
      if (this.#places.size < this.max) this.#addPlace();
      else this.#tellWaiting();
    });
  }

  #addPlace(): void {
    const place: Place = { leaving: new AbortController(), isHeld: false };
    this.#places.add(place);
    this.holdPlace(place.leaving.signal, (held) => this.#serve(place, held))
      .catch((error: unknown) => this.#waiting.splice(0).forEach(({ reject }) => reject(error)))
      .finally(() => this.#places.delete(place));
  }

  /** Returns when nothing waits, which gives the place up. */
  async #serve(place: Place, held: AbortSignal): Promise<void> {
    place.isHeld = true;
    for (let entry = this.#waiting.shift(); entry !== undefined; entry = this.#waiting.shift()) {
      await this.#readFor(entry, held);
      if (!held.aborted) continue;
      place.isHeld = false;
      this.#leaveUnneeded();
      this.#tellWaiting();
      return;
    }
    // At once: a stream that comes now needs a place of its own.
    this.#places.delete(place);
    this.#leaveUnneeded();
  }

  async #readFor(entry: Entry, held: AbortSignal): Promise<void> {
    const over = new AbortController();
    const timer = setInterval(() => this.#waiting.length > 0 && over.abort(), this.turnMs);
    const turn = AbortSignal.any([held, over.signal, entry.signal]);
    entry.onPaused(undefined);
    try {
      await entry.read(turn);
      if (!turn.aborted || entry.signal.aborted) return entry.resolve();
    } catch (error) {
      if (!turn.aborted) return entry.reject(error);
      if (entry.signal.aborted) return entry.resolve();
    } finally {
      clearInterval(timer);
    }
    // Who has lost a place to another page goes on first.
    if (held.aborted) this.#waiting.unshift(entry);
    else this.#waiting.push(entry);
    if (!held.aborted) this.#tellWaiting();
  }

  #remove(entry: Entry): void {
    const index = this.#waiting.indexOf(entry);
    // One that is read is resolved when its turn has ended.
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    entry.resolve();
    this.#leaveUnneeded();
  }

  /** No longer waits for places that no stream is left for. */
  #leaveUnneeded(): void {
    if (this.#waiting.length > 0) return;
    for (const place of this.#places) {
      if (place.isHeld) continue;
      this.#places.delete(place);
      place.leaving.abort();
    }
  }

  #tellWaiting(): void {
    const isReading = [...this.#places].some(({ isHeld }) => isHeld);
    for (const { onPaused } of this.#waiting) onPaused(isReading ? 'turn' : 'tabs');
  }
}
