/** Replaces each occurrence of the sent id in an answer with the caller's id. */
export function replaceAll(bytes: Buffer, from: Buffer, to: Buffer): Buffer {
  const parts: Buffer[] = [];
  let start = 0;
  for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, start)) {
    parts.push(bytes.subarray(start, at), to);
    start = at + from.length;
  }
  return start === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(start)]);
}

/**
 * The same for a stream. Holds back only what could begin the id: what holds back nothing is passed on without a copy.
 */
export class StreamingReplacement {
  private held: Buffer = Buffer.alloc(0);
  /** True once the id has been seen. */
  found = false;

  constructor(
    private readonly from: Buffer,
    private readonly to: Buffer,
  ) {}

  /** Returns the bytes that can be sent. */
  push(chunk: Buffer): Buffer {
    const bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    const replaced: Buffer[] = [];
    let start = 0;
    for (let at = bytes.indexOf(this.from); at !== -1; at = bytes.indexOf(this.from, start)) {
      this.found = true;
      replaced.push(bytes.subarray(start, at), this.to);
      start = at + this.from.length;
    }
    const keep = this.beginningIn(bytes, Math.max(start, bytes.length - this.from.length + 1));
    replaced.push(bytes.subarray(start, keep));
    this.held = bytes.subarray(keep);
    return replaced.length === 1 && replaced[0] !== undefined ? replaced[0] : Buffer.concat(replaced);
  }

  /** Where the bytes end with a beginning of the id; their length if they do not. */
  private beginningIn(bytes: Buffer, start: number): number {
    const [first = 0] = this.from;
    for (let at = bytes.indexOf(first, start); at !== -1; at = bytes.indexOf(first, at + 1)) {
      if (bytes.subarray(at).equals(this.from.subarray(0, bytes.length - at))) return at;
    }
    return bytes.length;
  }

  /** Returns the bytes that were held back. */
  flush(): Buffer {
    const rest = this.held;
    this.held = Buffer.alloc(0);
    return rest;
  }
}
