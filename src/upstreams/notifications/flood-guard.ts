/** A stream of news is quiet by nature; within this time, in milliseconds, it may hold so many events and bytes. */
const WINDOW_MS = 10_000;
export const MAX_EVENTS = 500;
export const MAX_BYTES = 2 * 1024 * 1024;

/** Judges whether an upstream sends more than anybody has to listen to. */
export class FloodGuard {
  private startedAt = -Infinity;
  private events = 0;
  private bytes = 0;

  /** Takes the next event; false when it is one too many. @param now milliseconds of a monotonic clock */
  allows(size: number, now = performance.now()): boolean {
    if (now - this.startedAt >= WINDOW_MS) {
      this.startedAt = now;
      this.events = 0;
      this.bytes = 0;
    }
    this.events++;
    this.bytes += size;
    return this.events <= MAX_EVENTS && this.bytes <= MAX_BYTES;
  }
}
