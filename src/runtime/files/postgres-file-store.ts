import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type ByteRange, FileStore } from './file-store.js';

/** A process holds one chunk of each transfer. */
export const CHUNK_BYTES = 256 * 1024;

/** Stores files in the database, so that every process and every backup has them. */
@Injectable()
export class PostgresFileStore extends FileStore {
  constructor(private readonly database: DataSource) {
    super();
  }

  async write(contentId: string, source: AsyncIterable<Buffer>): Promise<void> {
    let n = 0;
    for await (const chunk of inChunks(source)) {
      await this.database.query('INSERT INTO file_chunks (content_id, n, bytes) VALUES ($1, $2, $3)', [
        contentId,
        n++,
        chunk,
      ]);
    }
  }

  async *read(contentId: string, { start, end }: ByteRange): AsyncIterable<Buffer> {
    for (let at = start; at < end;) {
      const n = Math.floor(at / CHUNK_BYTES);
      const offset = at - n * CHUNK_BYTES;
      const length = Math.min(CHUNK_BYTES - offset, end - at);
      const [row]: { bytes: Buffer }[] = await this.database.query(
        'SELECT substring(bytes FROM $3 FOR $4) AS bytes FROM file_chunks WHERE content_id = $1 AND n = $2',
        [contentId, n, offset + 1, length],
      );
      if (row?.bytes.length !== length) throw new Error('The bytes of a file are missing.');
      yield row.bytes;
      at += length;
    }
  }

  async delete(contentIds: readonly string[]): Promise<void> {
    await this.database.query('DELETE FROM file_chunks WHERE content_id = ANY ($1::uuid[])', [contentIds]);
  }
}

/** The same bytes in buffers of `CHUNK_BYTES`, of which only the last one may be shorter. */
async function* inChunks(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let pending: Buffer[] = [];
  let length = 0;
  for await (let buffer of source) {
    while (length + buffer.length >= CHUNK_BYTES) {
      const room = CHUNK_BYTES - length;
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
