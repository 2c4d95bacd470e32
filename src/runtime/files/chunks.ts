/** The same bytes in buffers of one size, of which only the last one may be shorter. */
export async function* inChunks(source: AsyncIterable<Buffer>, size: number): AsyncIterable<Buffer> {
  let pending: Buffer[] = [];
  let length = 0;
  for await (let buffer of source) {
    while (length + buffer.length >= size) {
      const room = size - length;
      yield Buffer.concat([...pending, buffer.subarray(0, room)]);
      buffer = buffer.subarray(room);
      pending = [];
      length = 0;
    }
    if (buffer.length === 0) continue;
    pending.push(buffer);
    length += buffer.length;
  }
  if (length > 0) yield Buffer.concat(pending);
}
