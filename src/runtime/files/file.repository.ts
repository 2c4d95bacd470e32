import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository, type SelectQueryBuilder } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import type { OrganizationLimits } from '../../core/limits.js';
import { deleteBatch } from '../../platform/database/delete-batch.js';
import { changeOrganization, lockOrganization } from '../../platform/database/organization-locks.js';
import { FileContentEntity, FileEntity, MessageFileEntity } from './file.entity.js';

/** An uploaded content: what the store has under its id. */
interface StoredContent {
  readonly id: string;
  readonly sha256: string;
  readonly size: number;
}

/** The message that names a file from the beginning. */
export interface NamingMessage {
  readonly threadId: string;
  readonly messageId: string;
}

const IN_USE = 'EXISTS (SELECT FROM files WHERE files.content_id = file_contents.id)';

/** The statements on files. */
@Injectable()
export class FileRepository {
  constructor(@InjectRepository(FileEntity) private readonly files: Repository<FileEntity>) {}

  /** Records an upload that begins. */
  async beginContent(id: string, organizationId: string): Promise<void> {
    await this.files.manager.insert(FileContentEntity, { id, organizationId });
  }

  /**
   * Records a file whose bytes are stored. If the organization has the same bytes already, the file gets those, and the
   * new ones are to be deleted. Uploads of one organization come here one after the other, so that the sum is exact.
   * @param maxBytes of all contents of the organization; undefined for no limit
   * @param message that names the file, besides those that are stored later
   * @throws DomainError `limit_reached`
   */
  insert(
    file: Omit<FileEntity, 'contentId' | 'createdAt' | 'sha256' | 'size'>,
    content: StoredContent,
    maxBytes: number | undefined,
    message?: NamingMessage,
  ): Promise<FileEntity> {
    const { organizationId } = file;
    const { id, sha256, size } = content;
    return changeOrganization(this.files.manager, organizationId, async (manager) => {
      await lockOrganization(manager, organizationId);
      // The lock keeps the content from being deleted until the file refers to it.
      const [same]: { id: string }[] = await manager.query(
        'SELECT id FROM file_contents WHERE organization_id = $1 AND sha256 = $2 FOR KEY SHARE',
        [organizationId, sha256],
      );
      if (same === undefined) {
        if (maxBytes !== undefined) await requireBytes(manager, organizationId, maxBytes - size);
        await manager.update(FileContentEntity, { id }, { sha256, size });
      }
      await manager.insert(FileEntity, { ...file, contentId: same?.id ?? id, sha256, size });
      if (message !== undefined) {
        const { threadId, messageId } = message;
        await manager.insert(MessageFileEntity, { organizationId, threadId, messageId, fileId: file.id });
      }
      return manager.findOneByOrFail(FileEntity, { id: file.id });
    });
  }

  /** What the store needs to know of an organization. */
  async ownerOf(organizationId: string): Promise<{ slug: string; limits: OrganizationLimits }> {
    const sql = 'SELECT slug, limits FROM organizations WHERE id = $1';
    const [owner]: { slug: string; limits: OrganizationLimits }[] = await this.files.query(sql, [organizationId]);
    if (owner === undefined) throw new DomainError('not_found', 'The organization no longer exists.');
    return owner;
  }

  /** For `paginate`; the alias is `file`. */
  queryOfOrganization(organizationId: string): SelectQueryBuilder<FileEntity> {
    return this.files.createQueryBuilder('file').where('file.organizationId = :organizationId', { organizationId });
  }

  find(organizationId: string, id: string): Promise<FileEntity | null> {
    return this.files.findOneBy({ organizationId, id });
  }

  /** @param slug of the organization */
  findInOrganization(slug: string, id: string): Promise<FileEntity | null> {
    return this.files
      .createQueryBuilder('file')
      .where('file.id = :id AND file.organizationId = (SELECT id FROM organizations WHERE slug = :slug)', { id, slug })
      .getOne();
  }

  findAll(organizationId: string, ids: readonly string[]): Promise<FileEntity[]> {
    return this.files.findBy({ organizationId, id: In([...ids]) });
  }

  /** Whether a message of the thread names the file. */
  isNamedIn(organizationId: string, threadId: string, fileId: string): Promise<boolean> {
    return this.files.manager.existsBy(MessageFileEntity, { organizationId, threadId, fileId });
  }

  /**
   * Deletes a file. One that a message names stays without bytes. Returns the ids of contents that no file has any
   * more: their bytes are to be deleted.
   */
  delete(organizationId: string, id: string): Promise<string[]> {
    return this.files.manager.transaction(async (manager) => {
      const file = await manager.findOne(FileEntity, {
        where: { organizationId, id },
        lock: { mode: 'pessimistic_write' },
      });
      if (file === null) return [];
      if (await manager.existsBy(MessageFileEntity, { fileId: id })) {
        await manager.update(FileEntity, { id }, { contentId: null });
      } else {
        await manager.delete(FileEntity, { id });
      }
      return file.contentId === null ? [] : discardUnused(manager, 'id = $1', [file.contentId]);
    });
  }

  /** Deletes files of before `since` that no message names; returns their number. */
  deleteUnnamed(since: Date): Promise<number> {
    const unnamed = 'NOT EXISTS (SELECT FROM message_files WHERE message_files.file_id = files.id)';
    return deleteBatch(this.files, 'files', `created_at < $1 AND ${unnamed}`, [since]);
  }

  /**
   * Contents without a file, and uploads that were broken off: nothing refers to them from now on.
   * @param since when an upload in progress can have begun at the earliest
   */
  async discardUnused(since: Date): Promise<string[]> {
    const found = await this.files.manager.transaction((manager) => discardUnused(manager, 'true', []));
    const broken: { id: string }[] = await this.files.query(
      `SELECT id FROM file_contents WHERE sha256 IS NULL AND created_at < $1 LIMIT ${DISCARDED_AT_ONCE}`,
      [since],
    );
    return [...found, ...broken.map(({ id }) => id)];
  }

  /** Forgets contents whose bytes are deleted. */
  async forgetContents(ids: readonly string[]): Promise<void> {
    await this.files.manager.delete(FileContentEntity, { id: In([...ids]) });
  }
}

const DISCARDED_AT_ONCE = 100;

/**
 * Takes the digest from contents that no file has, so that no upload takes them for its own; returns their ids. They
 * are locked first: an upload that has taken one meanwhile is seen by the second statement only.
 */
async function discardUnused(manager: EntityManager, condition: string, values: unknown[]): Promise<string[]> {
  const locked: { id: string }[] = await manager.query(
    `SELECT id FROM file_contents WHERE ${condition} AND sha256 IS NOT NULL AND NOT ${IN_USE}
      LIMIT ${DISCARDED_AT_ONCE} FOR UPDATE SKIP LOCKED`,
    values,
  );
  const [rows]: [{ id: string }[], number] = await manager.query(
    `UPDATE file_contents SET sha256 = NULL WHERE id = ANY ($1::uuid[]) AND NOT ${IN_USE} RETURNING id`,
    [locked.map(({ id }) => id)],
  );
  return rows.map(({ id }) => id);
}

/** @throws DomainError `limit_reached` if the organization has more than this */
async function requireBytes(manager: EntityManager, organizationId: string, maxBytes: number): Promise<void> {
  const sum = await manager.sum(FileContentEntity, 'size', { organizationId });
  if ((sum ?? 0) > maxBytes) {
    throw new DomainError('limit_reached', 'The files of the organization would exceed its limit file_bytes.');
  }
}
