/** Share of the process's time that reading the output of one organization's programs can take in the long run. */
const SHARE = 0.2;
/** Milliseconds of it that they can take at once. */
const BURST_MS = 250;
/** What a line costs after it was read, on its way to those who wait for it; and all lines as a multiple of their reading. */
const PER_LINE_MS = 0.05;
const PASSING_ON = 2;
const LONGEST_PAUSE_MS = 2_000;
/** Bytes of unfinished lines that are held for them together: each line alone can have half of that. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

/** What the programs of one organization can cost by what they print: time of the process's one thread, and memory. */
export class OutputBudget {
  private spentMs = 0;
  private countedAt: number;
  private heldBytes = 0;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.countedAt = now();
  }

  /** Takes note of the time that reading so many lines took. Returns for how many milliseconds the reader has to pause. */
  spend(milliseconds: number, lines: number): number {
    const now = this.now();
    this.spentMs =
      Math.max(0, this.spentMs - (now - this.countedAt) * SHARE) + milliseconds * PASSING_ON + lines * PER_LINE_MS;
    this.countedAt = now;
    return Math.min(LONGEST_PAUSE_MS, Math.max(0, (this.spentMs - BURST_MS) / SHARE));
  }

  /** Takes note that a program's unfinished line has grown or was read. False when there is more of them than can be held. */
  hold(bytes: number): boolean {
    this.heldBytes += bytes;
    return this.heldBytes <= MAX_HELD_BYTES;
  }
}
