import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, type InsertResult, Repository, type SelectQueryBuilder } from 'typeorm';
import type { RunStatus } from '../../core/run-status.js';
import { ThreadEntity } from './thread.entity.js';

/** The changes that callers can make to a thread. */
type ThreadChanges = Partial<Pick<ThreadEntity, 'title' | 'metadata'>>;

export interface LastRun {
  readonly id: string;
  readonly status: RunStatus;
  readonly error: { readonly code: string; readonly message: string } | null;
}

// One step into `runs_thread_idx` for each thread, however many runs it has.
const LAST_RUNS = `
  SELECT thread.id AS "threadId", last.id, last.status, last.error
    FROM unnest($2::varchar[]) AS thread (id)
   CROSS JOIN LATERAL (
     SELECT id, status, error FROM runs
      WHERE organization_id = $1 AND thread_id = thread.id ORDER BY position DESC LIMIT 1
   ) last`;

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

  async insert(manager: EntityManager, thread: Omit<ThreadEntity, 'createdAt' | 'updatedAt'>): Promise<void> {
    await manager.insert(ThreadEntity, thread);
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

  queryOfOrganization(manager: EntityManager, organizationId: string): SelectQueryBuilder<ThreadEntity> {
    return manager
      .createQueryBuilder(ThreadEntity, 'thread')
      .where('thread.organizationId = :organizationId', { organizationId });
  }

  async change(organizationId: string, id: string, changes: ThreadChanges): Promise<void> {
    await this.threads.update({ organizationId, id }, changes);
  }

  /** The run of each thread that was posted last, by thread; threads without a run are absent. */
  async findLastRuns(organizationId: string, ids: readonly string[]): Promise<Map<string, LastRun>> {
    if (ids.length === 0) return new Map();
    const rows: (LastRun & { threadId: string })[] = await this.threads.query(LAST_RUNS, [organizationId, ids]);
    return new Map(rows.map(({ threadId, ...run }) => [threadId, run]));
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
