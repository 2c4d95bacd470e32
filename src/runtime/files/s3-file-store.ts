import { S3mini } from 's3mini';
import type { S3Address } from '../../core/config/s3-address.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { Shares } from '../../core/sharing/shares.js';
import { storageUnavailable } from '../../core/storage-unavailable.js';
import { inChunks } from './chunks.js';
import { type ByteRange, FileStore } from './file-store.js';

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
  private readonly parts = new FairShare({
    capacity: MAX_PARTS,
    limits: [],
    places: new Shares(Infinity),
    refusal: () => new Error('There is no limit of waiting uploads.'),
  });

  constructor(address: S3Address) {
    super();
    this.bucket = new S3mini({ ...address, requestAbortTimeout: REQUEST_WITHIN_MS });
  }

  async write(contentId: string, source: AsyncIterable<Buffer>): Promise<void> {
    const key = keyOf(contentId);
    const parts = inChunks(source, PART_BYTES)[Symbol.asyncIterator]();
    const next = (): Promise<IteratorResult<Buffer>> => parts.next();
    const first = await this.withPart(contentId, next, async (bytes) => {
      if (bytes.length === PART_BYTES) return this.beginParts(key, bytes);
      await this.request(() => this.bucket.putObject(key, bytes));
      return undefined;
    });
    if (first === undefined) return;
    const { uploadId, stored } = first;
    try {
      for (let number = 2; ; number++) {
        const part = await this.withPart(contentId, next, (bytes) => this.putPart(key, uploadId, bytes, number));
        if (part === undefined) break;
        stored.push(part);
      }
      await this.request(() => this.bucket.completeMultipartUpload(key, uploadId, stored));
    } catch (error) {
      await this.bucket.abortMultipartUpload(key, uploadId).catch(() => undefined);
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

  /** Does work with the next part, in its turn; undefined if there is none. */
  private withPart<T>(
    contentId: string,
    next: () => Promise<IteratorResult<Buffer>>,
    work: (bytes: Buffer) => Promise<T>,
  ): Promise<T | undefined> {
    return this.parts.within([contentId], async () => {
      const { done, value } = await next();
      return done === true ? undefined : work(value);
    });
  }

  private async beginParts(key: string, bytes: Buffer) {
    const uploadId = await this.request(() => this.bucket.getMultipartUploadId(key));
    return { uploadId, stored: [await this.putPart(key, uploadId, bytes, 1)] };
  }

  private putPart(key: string, uploadId: string, bytes: Buffer, number: number) {
    return this.request(() => this.bucket.uploadPart(key, uploadId, bytes, number));
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
