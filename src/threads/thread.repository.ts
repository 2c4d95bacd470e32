import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type InsertResult, Repository, type SelectQueryBuilder } from 'typeorm';
import { ThreadEntity } from './thread.entity.js';

@Injectable()
export class ThreadRepository {
  constructor(@InjectRepository(ThreadEntity) private readonly threads: Repository<ThreadEntity>) {}

  /** Inserts the thread unless its id is taken. Returns true if it was inserted. */
  async insertIfAbsent(thread: Omit<ThreadEntity, 'createdAt' | 'updatedAt'>): Promise<boolean> {
    const result: InsertResult = await this.threads
      .createQueryBuilder()
      .insert()
      .values(thread)
      .orIgnore()
      .returning('id')
      .execute();
    return (result.raw as unknown[]).length === 1;
  }

  findThread(organizationId: string, id: string): Promise<ThreadEntity | null> {
    return this.threads.findOneBy({ organizationId, id });
  }

  async exists(organizationId: string, id: string): Promise<boolean> {
    const rows: unknown[] = await this.threads.query('SELECT FROM threads WHERE organization_id = $1 AND id = $2', [
      organizationId,
      id,
    ]);
    return rows.length === 1;
  }

  queryOfOrganization(organizationId: string): SelectQueryBuilder<ThreadEntity> {
    return this.threads
      .createQueryBuilder('thread')
      .where('thread.organizationId = :organizationId', { organizationId });
  }

  async rename(organizationId: string, id: string, title: string): Promise<void> {
    await this.threads.update({ organizationId, id }, { title });
  }

  /** Deletes the thread with its messages and runs unless a run is open. Returns true if it was deleted. */
  async deleteUnlessBusy(organizationId: string, id: string): Promise<boolean> {
    const [, count]: [unknown[], number] = await this.threads.query(
      `DELETE FROM threads WHERE organization_id = $1 AND id = $2 AND status <> 'in_progress'`,
      [organizationId, id],
    );
    return count === 1;
  }
}
