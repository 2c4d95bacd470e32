import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { AppConfig } from '../../core/config/app-config.js';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { DomainError } from '../../core/domain-error.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { paginate } from '../../core/paging/paginate.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import type { FileDetails, FileItem, FilePage } from './file.dto.js';
import type { FileEntity } from './file.entity.js';
import { FileLinks } from './file-links.js';
import { FileRepository } from './file.repository.js';
import { FileUploads } from './file-uploads.js';

const HOUR_MS = 3_600_000;

const FILE_LIST: ListSpec = {
  name: 'files',
  fields: {
    id: { column: 'file.id', type: 'uuid' },
    filename: { column: 'file.filename', type: 'string', nullable: true },
    media_type: { column: 'file.mediaType', type: 'string' },
    size: { column: 'file.size', type: 'integer' },
    sha256: { column: 'file.sha256', type: 'string' },
    created_at: { column: 'file.createdAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};

/** Finds, lists and deletes files, and deletes those that nobody needs any more. */
@Injectable()
export class FileService {
  constructor(
    private readonly repository: FileRepository,
    private readonly uploads: FileUploads,
    private readonly links: FileLinks,
    private readonly config: AppConfig,
  ) {}

  /** @throws DomainError `not_found` */
  async find(organizationId: string, id: string): Promise<FileEntity> {
    const file = await this.repository.find(organizationId, id);
    if (file === null) throw this.notFound();
    return file;
  }

  /** The file that a valid signature opens. @throws DomainError `not_found` */
  async findByLink(org: string, id: string): Promise<FileEntity> {
    const file = await this.repository.findInOrganization(org, id);
    if (file === null) throw this.notFound();
    return file;
  }

  notFound(): DomainError {
    return new DomainError('not_found', 'There is no file with this id in the organization.');
  }

  async get(id: string, { organization }: Principal): Promise<FileDetails> {
    const file = await this.find(organization.id, id);
    const signedUrl = file.contentId === null ? null : this.links.sign(organization.slug, id);
    return { ...this.toItem(file, organization.slug), signed_url: signedUrl };
  }

  async list(input: ListInput, { organization }: Principal, answer: HeldAnswer): Promise<FilePage> {
    const page = await paginate(this.repository.queryOfOrganization(organization.id), FILE_LIST, input, answer);
    return { ...page, items: page.items.map((file) => this.toItem(file, organization.slug)) };
  }

  async delete(id: string, { organization }: Principal): Promise<FileItem> {
    const file = await this.find(organization.id, id);
    await this.uploads.discard(await this.repository.delete(organization.id, id));
    return this.toItem(file, organization.slug);
  }

  /**
   * Whether the caller can read the file: with the permission FILE_GET, or because it has uploaded it; a browser token
   * one that its thread names, or that it has uploaded.
   */
  async isOpenTo({ organization, thread, credentialId, permissions }: Principal, file: FileEntity): Promise<boolean> {
    const isOwn = file.credentialId === credentialId;
    if (thread === undefined) return isOwn || allows(permissions, SELF, 'FILE_GET');
    if (thread.permissions.includes('post') && isOwn) return true;
    return thread.permissions.includes('read') && this.repository.isNamedIn(organization.id, thread.id, file.id);
  }

  toItem({ id, mediaType, filename, size, sha256, createdAt, contentId }: FileEntity, org: string): FileItem {
    return {
      id,
      media_type: mediaType,
      filename,
      size,
      sha256,
      url: this.links.pathOf(org, id),
      created_at: createdAt.toISOString(),
      deleted: contentId === null,
    };
  }

  /** Deletes files that are older than a day and that no message names. */
  @DeletesExpired('unnamed files')
  deleteUnnamed(now: Date): Promise<number> {
    return this.repository.deleteUnnamed(new Date(now.getTime() - this.config.settings.retentionDayMs));
  }

  /** Deletes the bytes that no file has, and those of uploads that were broken off. */
  @DeletesExpired('contents of files')
  async deleteUnusedContents(now: Date): Promise<number> {
    const ids = await this.repository.discardUnused(new Date(now.getTime() - HOUR_MS));
    await this.uploads.discard(ids);
    return ids.length;
  }
}
