import type { DataSource } from 'typeorm';
import { FairShare } from '../../core/sharing/fair-share.js';
import { inChunks, type ByteRange, FileStore } from './file-store.js';

/** A process holds one chunk of each transfer. */
const CHUNK_BYTES = 256 * 1024;

/** Statements of all transfers at a time; the rest of the connections is for other callers. */
const MAX_STATEMENTS = 4;

const INSERT_CHUNK = 'INSERT INTO file_chunks (content_id, n, bytes) VALUES ($1, $2, $3)';
const READ_CHUNK = 'SELECT substring(bytes FROM $3 FOR $4) AS bytes FROM file_chunks WHERE content_id = $1 AND n = $2';

/** Stores files in the database, so that every process and every backup has them. */
export class PostgresFileStore extends FileStore {
  /** Transfers take turns, chunk by chunk. */
  private readonly transfers = FairShare.ofTurns(MAX_STATEMENTS);

  constructor(private readonly database: DataSource) {
    super();
  }

  async write(contentId: string, source: AsyncIterable<Buffer>): Promise<void> {
    let n = 0;
    for await (const chunk of inChunks(source, CHUNK_BYTES)) {
      const values = [contentId, n++, chunk];
      await this.transfers.within([contentId], () => this.database.query(INSERT_CHUNK, values));
    }
  }

  async *read(contentId: string, { start, end }: ByteRange): AsyncIterable<Buffer> {
    for (let at = start; at < end;) {
      const n = Math.floor(at / CHUNK_BYTES);
      const offset = at - n * CHUNK_BYTES;
      const length = Math.min(CHUNK_BYTES - offset, end - at);
      const values = [contentId, n, offset + 1, length];
      const [row] = await this.transfers.within([contentId], () =>
        this.database.query<{ bytes: Buffer }[]>(READ_CHUNK, values),
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
