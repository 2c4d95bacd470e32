import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { OrganizationCaps } from '../../platform/limits/organization-caps.js';
import type { FileEntity } from './file.entity.js';
import { FileRepository, type NamingMessage } from './file.repository.js';
import { FileStore } from './file-store.js';
import { mediaTypeOf, SNIFFED_BYTES } from './media-type.js';

/** What a client says of a file, and its bytes. */
export interface Upload {
  /** A `Content-Type`, empty if the client sent none. */
  readonly declaredType: string;
  /** As `safeFilename` leaves it. */
  readonly filename: string | null;
  readonly bytes: AsyncIterable<Buffer>;
}

/** For whom a file is stored: the credential reads it. */
type Uploader = Pick<Principal, 'organization' | 'credentialId'>;

/** Stores files as their bytes arrive. A file is there as a whole or not at all. */
@Injectable()
export class FileUploads {
  private readonly logger = new Logger(FileUploads.name);
  readonly maxBytes: number;

  constructor(
    private readonly repository: FileRepository,
    private readonly store: FileStore,
    private readonly caps: OrganizationCaps,
    { settings }: AppConfig,
  ) {
    this.maxBytes = settings.filesMaxMb * 1024 * 1024;
  }

  /**
   * @param message that names the file
   * @throws DomainError `invalid_request` for an empty file, `file_type_mismatch`, `body_too_large`, `limit_reached`;
   *   and whatever ends the bytes early
   */
  async upload(
    { declaredType, filename, bytes }: Upload,
    { organization, credentialId }: Uploader,
    message?: NamingMessage,
  ): Promise<FileEntity> {
    const { id: organizationId, limits } = organization;
    const contentId = newId();
    const measured = new MeasuredBytes(bytes, this.maxBytes);
    const head = await measured.readHead();
    if (head.length === 0) throw new DomainError('invalid_request', 'The file is empty.');
    const mediaType = await mediaTypeOf(head, declaredType);
    await this.repository.beginContent(contentId, organizationId);
    let isUnused = true;
    try {
      await this.store.write(contentId, measured);
      // A file may refer to the bytes even if its commit has no answer. The retention task deletes unused ones later.
      isUnused = false;
      const file = await this.repository.insert(
        { id: newId(), organizationId, mediaType, filename, credentialId },
        { id: contentId, sha256: measured.digest(), size: measured.size },
        this.caps.limitOf(limits, 'file_bytes'),
        message,
      );
      isUnused = file.contentId !== contentId;
      return file;
    } catch (error) {
      if (error instanceof DomainError) isUnused = true;
      throw error;
    } finally {
      if (isUnused) await this.discard([contentId]);
    }
  }

  /** Deletes the bytes of contents that nothing refers to. What fails is done again by the retention task. */
  async discard(contentIds: readonly string[]): Promise<void> {
    if (contentIds.length === 0) return;
    try {
      await this.store.delete(contentIds);
      await this.repository.forgetContents(contentIds);
    } catch (error) {
      this.logger.warn({ err: error }, 'Cannot delete the bytes of files; the retention task will');
    }
  }
}

/** Measures and digests bytes on their way to the store. */
class MeasuredBytes implements AsyncIterable<Buffer> {
  private readonly hash = createHash('sha256');
  private readonly source: AsyncIterator<Buffer>;
  private readonly head: Buffer[] = [];
  size = 0;

  constructor(
    source: Upload['bytes'],
    private readonly maxBytes: number,
  ) {
    this.source = source[Symbol.asyncIterator]();
  }

  /** The first `SNIFFED_BYTES` bytes, or all of a shorter file; they are yielded as well. */
  async readHead(): Promise<Buffer> {
    while (this.size < SNIFFED_BYTES) {
      const buffer = await this.read();
      if (buffer === undefined) break;
      this.head.push(buffer);
    }
    return Buffer.concat(this.head).subarray(0, SNIFFED_BYTES);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    yield* this.head.splice(0);
    for (let buffer = await this.read(); buffer !== undefined; buffer = await this.read()) yield buffer;
  }

  digest(): string {
    return this.hash.digest('hex');
  }

  private async read(): Promise<Buffer | undefined> {
    const { done, value } = await this.source.next();
    if (done === true) return undefined;
    this.size += value.length;
    if (this.size > this.maxBytes) throw tooLarge(this.maxBytes);
    this.hash.update(value);
    return value;
  }
}

/** The error for a file that is larger than this. */
export function tooLarge(maxBytes: number): DomainError {
  return new DomainError('body_too_large', `A file is limited to ${maxBytes / 1024 / 1024} MiB.`);
}
