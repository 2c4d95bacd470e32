import type { FileOperation, FileTelemetry } from '../../platform/telemetry/file-telemetry.js';

/** Bytes of a content: from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the bytes of files lie, by the id of their content. A content is written once and never changed. Its row in
 * `file_contents` exists before its bytes, and is deleted after them.
 */
export abstract class FileStore {
  /**
   * Stores what the source yields. If the source or the store fails, bytes may be left behind until `delete`.
   * @param source buffers of any length
   */
  abstract write(contentId: string, source: AsyncIterable<Buffer>): Promise<void>;

  /** Yields the bytes of a range that lies within the content. @throws Error if bytes are missing */
  abstract read(contentId: string, range: ByteRange): AsyncIterable<Buffer>;

  /** Deletes the bytes of these contents. Those that have none are passed over, so that a call can be repeated. */
  abstract delete(contentIds: readonly string[]): Promise<void>;
}

/** A store whose transfers are measured and traced. */
export class ObservedFileStore extends FileStore {
  constructor(
    private readonly store: FileStore,
    private readonly kind: FileOperation['store'],
    private readonly telemetry: FileTelemetry,
  ) {
    super();
  }

  async write(contentId: string, source: AsyncIterable<Buffer>): Promise<void> {
    const transfer = this.telemetry.begin({ operation: 'write', store: this.kind });
    try {
      await this.store.write(contentId, transfer.count(source));
    } catch (error) {
      transfer.fail(error);
      throw error;
    }
    transfer.succeed();
  }

  async *read(contentId: string, range: ByteRange): AsyncIterable<Buffer> {
    const transfer = this.telemetry.begin({ operation: 'read', store: this.kind });
    let failure: { error: unknown } | undefined;
    try {
      yield* transfer.count(this.store.read(contentId, range));
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      if (failure === undefined) transfer.succeed();
      else transfer.fail(failure.error);
    }
  }

  delete(contentIds: readonly string[]): Promise<void> {
    return this.store.delete(contentIds);
  }
}

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
