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
