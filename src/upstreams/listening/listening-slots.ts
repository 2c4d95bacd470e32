/** A quarter of the sockets that the dispatcher opens to one origin: open streams must leave enough for calls. */
const MAX_PER_ORIGIN = 32;
const MAX_IN_ALL = 500;

/** How many streams of news this process keeps open. An upstream that gets no place is asked from time to time instead. */
export class ListeningSlots {
  private readonly taken = new Map<string, number>();
  private inAll = 0;

  constructor(private readonly limits = { perOrigin: MAX_PER_ORIGIN, inAll: MAX_IN_ALL }) {}

  /** Returns how to give the place back, once; undefined when there is none. */
  take(origin: string): (() => void) | undefined {
    const count = this.taken.get(origin) ?? 0;
    if (count >= this.limits.perOrigin || this.inAll >= this.limits.inAll) return undefined;
    this.taken.set(origin, count + 1);
    this.inAll++;
    return () => this.giveBack(origin);
  }

  private giveBack(origin: string): void {
    const left = (this.taken.get(origin) ?? 0) - 1;
    if (left > 0) this.taken.set(origin, left);
    else this.taken.delete(origin);
    this.inAll--;
  }
}
