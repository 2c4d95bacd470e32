const LF = 0x0a;
const CR = 0x0d;

/**
 * Cuts a stream of bytes into lines, without their ends (LF or CR LF). A line that is too long is handed on as soon as that
 * is known, cut; its rest is skipped. A last line without an end is not handed on.
 */
export class LineSplitter {
  private parts: Buffer[] = [];
  private length = 0;
  private skipping = false;
  /** Lines handed on so far. */
  lines = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly onLine: (line: Buffer, isCut: boolean) => void,
  ) {}

  /** Bytes of the line that has not ended yet. */
  get heldBytes(): number {
    return this.length;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.add(chunk.subarray(start, end));
      if (!this.skipping) this.handOn(false);
      this.skipping = false;
      start = end + 1;
    }
    this.add(chunk.subarray(start));
  }

  private add(part: Buffer): void {
    if (this.skipping || part.length === 0) return;
    const room = this.maxBytes - this.length;
    this.parts.push(part.subarray(0, room));
    this.length += Math.min(part.length, room);
    if (part.length <= room) return;
    this.skipping = true;
    this.handOn(true);
  }

  private handOn(isCut: boolean): void {
    const [only] = this.parts;
    const line = this.parts.length === 1 && only !== undefined ? only : Buffer.concat(this.parts);
    this.parts = [];
    this.length = 0;
    this.lines++;
    this.onLine(line.at(-1) === CR && !isCut ? line.subarray(0, -1) : line, isCut);
  }
}
