import type { FileOperation, FileTelemetry } from '../../platform/telemetry/file-telemetry.js';
import { type ByteRange, FileStore } from './file-store.js';

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
