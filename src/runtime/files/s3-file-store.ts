import { S3mini, type UploadPart } from 's3mini';
import type { S3Address } from '../../core/config/s3-address.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { storageUnavailable } from '../../core/domain-error.js';
import { inChunks, type ByteRange, FileStore } from './file-store.js';

/** The smallest part of a multipart upload that S3 accepts, except for the last one. */
const PART_BYTES = 5 * 1024 * 1024;
/** Parts that a process holds at a time. */
const MAX_PARTS = 16;
const KEY_PREFIX = 'files/';
const REQUEST_WITHIN_MS = 60_000;

/** Stores files as objects of a bucket, in any storage with the API of Amazon S3. */
export class S3FileStore extends FileStore {
  private readonly bucket: S3mini;
  /** Uploads take turns, part by part. */
  private readonly parts = FairShare.ofTurns(MAX_PARTS);

  constructor(address: S3Address) {
    super();
    this.bucket = new S3mini({ ...address, requestAbortTimeout: REQUEST_WITHIN_MS });
  }

  async write(contentId: string, source: AsyncIterable<Buffer>): Promise<void> {
    const key = keyOf(contentId);
    const parts = inChunks(source, PART_BYTES)[Symbol.asyncIterator]();
    const upload: { id?: string; readonly stored: UploadPart[] } = { stored: [] };
    /** Returns whether there are more parts. */
    const storeNext = async (): Promise<boolean> => {
      const { done, value: bytes } = await parts.next();
      if (done === true) return false;
      const isLast = bytes.length < PART_BYTES;
      if (isLast && upload.id === undefined) {
        await this.request(() => this.bucket.putObject(key, bytes));
        return false;
      }
      const id = (upload.id ??= await this.request(() => this.bucket.getMultipartUploadId(key)));
      upload.stored.push(await this.request(() => this.bucket.uploadPart(key, id, bytes, upload.stored.length + 1)));
      return !isLast;
    };
    try {
      while (await this.parts.within([contentId], storeNext));
      const { id, stored } = upload;
      if (id !== undefined) await this.request(() => this.bucket.completeMultipartUpload(key, id, stored));
    } catch (error) {
      if (upload.id !== undefined) await this.bucket.abortMultipartUpload(key, upload.id).catch(() => undefined);
      throw error;
    }
  }

  async *read(contentId: string, { start, end }: ByteRange): AsyncIterable<Buffer> {
    const answer = await this.request(() => this.bucket.getObjectRaw(keyOf(contentId), false, start, end));
    if (start > 0 && answer.status !== 206) throw new Error('The storage ignores the range of a request.');
    let left = end - start;
    try {
      // Some servers send more than the range.
      for await (const chunk of answer.body ?? []) {
        const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(chunk.length, left));
        left -= bytes.length;
        yield bytes;
        if (left === 0) break;
      }
    } catch (error) {
      throw storageUnavailable(error);
    }
    if (left !== 0) throw new Error('The bytes of a file are missing.');
  }

  async delete(contentIds: readonly string[]): Promise<void> {
    await this.request(() => this.bucket.deleteObjects(contentIds.map(keyOf)));
  }

  private async request<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}

function keyOf(contentId: string): string {
  return KEY_PREFIX + contentId;
}
