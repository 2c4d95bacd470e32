const LF = 0x0a;
const CR = 0x0d;

/**
 * Ends all lines of an event stream (WHATWG HTML, "Server-sent events") with LF, before a parser of an SDK reads it.
 * With both CR and LF in a chunk, `eventsource-parser` searches the rest of the chunk for the other one at each line: a
 * stream of line ends would take 200 ms for each MiB. The data of events stays the same, and so does JSON, in whose
 * strings line ends are escaped.
 */
export class LineEnds {
  private endsInCr = false;

  /** The next bytes of the stream, with LF instead of CR and CR LF. They can be empty. */
  unify(chunk: Uint8Array): Uint8Array {
    if (chunk.length === 0) return chunk;
    const bytes = this.endsInCr && chunk[0] === LF ? chunk.subarray(1) : chunk;
    this.endsInCr = chunk.at(-1) === CR;
    const first = bytes.indexOf(CR);
    return first === -1 ? bytes : withLineFeeds(bytes, first);
  }
}

/** @param first the index of the first CR */
function withLineFeeds(bytes: Uint8Array, first: number): Uint8Array {
  const result = new Uint8Array(bytes);
  let length = first;
  for (let at = first; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === LF && bytes[at - 1] === CR) continue;
    result[length++] = byte === CR ? LF : byte;
  }
  return result.subarray(0, length);
}
