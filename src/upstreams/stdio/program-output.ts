const LF = 0x0a;
const CR = 0x0d;

/**
 * Splits a stream of bytes into lines, without their ends (LF or CR LF). A line that is too long is emitted truncated,
 * and its rest is skipped. An unfinished last line is not emitted.
 */
export class LineSplitter {
  private parts: Buffer[] = [];
  private length = 0;
  private isSkipping = false;
  /** The number of lines emitted so far. */
  lines = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly onLine: (line: Buffer, isCut: boolean) => void,
  ) {}

  /** The buffered bytes of the unfinished line. */
  get heldBytes(): number {
    return this.length;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.add(chunk.subarray(start, end));
      if (!this.isSkipping) this.emit(false);
      this.isSkipping = false;
      start = end + 1;
    }
    this.add(chunk.subarray(start));
  }

  private add(part: Buffer): void {
    if (this.isSkipping || part.length === 0) return;
    const room = this.maxBytes - this.length;
    this.parts.push(part.subarray(0, room));
    this.length += Math.min(part.length, room);
    if (part.length <= room) return;
    this.isSkipping = true;
    this.emit(true);
  }

  private emit(isCut: boolean): void {
    const [only] = this.parts;
    const line = this.parts.length === 1 && only !== undefined ? only : Buffer.concat(this.parts);
    this.parts = [];
    this.length = 0;
    this.lines++;
    this.onLine(line.at(-1) === CR && !isCut ? line.subarray(0, -1) : line, isCut);
  }
}

/** The share of the process's time for reading the output of one organization's programs, in the long run. */
const SHARE = 0.2;
/** How many milliseconds they can take in a burst. */
const BURST_MS = 250;
/** The estimated cost of forwarding: a fixed time for each line, and a factor on the reading time. */
const PER_LINE_MS = 0.05;
const FORWARDING_FACTOR = 2;
/** The limit on all their unfinished lines, in bytes; a single line can have half of it. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

interface PausablePipe {
  pause(): void;
  resume(): void;
}

/** Limits the cost of the output of one organization's programs: time of the event loop, and memory. */
export class OutputBudget {
  private spentMs = 0;
  private countedAt: number;
  private readonly paused = new Set<PausablePipe>();
  private heldBytes = 0;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.countedAt = now();
  }

  /**
   * Records the processor time that reading these lines took. Pauses their pipe if the organization's programs have
   * used more than their share.
   */
  spend(milliseconds: number, lines: number, pipe: PausablePipe): void {
    const now = this.now();
    const cost = milliseconds * FORWARDING_FACTOR + lines * PER_LINE_MS;
    this.spentMs = Math.max(0, this.spentMs - (now - this.countedAt) * SHARE) + cost;
    this.countedAt = now;
    const debtMs = this.spentMs - BURST_MS;
    if (debtMs <= 0) return;
    this.paused.add(pipe);
    pipe.pause();
    // Each pays for what it has printed: a program that prints little does not wait for those that print much.
    const pauseMs = Math.min(debtMs, cost * this.paused.size) / SHARE;
    setTimeout(() => {
      this.paused.delete(pipe);
      pipe.resume();
    }, pauseMs).unref();
  }

  /** Forgets a pipe that was closed, and the bytes of its unfinished line. */
  close(pipe: PausablePipe, heldBytes: number): void {
    this.paused.delete(pipe);
    this.hold(-heldBytes);
  }

  /** Records that a program's unfinished line has grown or shrunk. Returns false if all of them exceed the limit. */
  hold(bytes: number): boolean {
    this.heldBytes += bytes;
    return this.heldBytes <= MAX_HELD_BYTES;
  }
}
