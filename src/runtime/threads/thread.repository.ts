import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, type InsertResult, Repository, type SelectQueryBuilder } from 'typeorm';
import type { RunStatus } from '../../core/run-status.js';
import { questionAmong, questionBytes } from './message-texts.js';
import { type NewThread, ThreadEntity } from './thread.entity.js';

/** The changes that callers can make to a thread. */
type ThreadChanges = Partial<Pick<ThreadEntity, 'title' | 'metadata'>>;

export interface LastRun {
  readonly id: string;
  readonly status: RunStatus;
  readonly model: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

// One step into `runs_thread_idx` for each thread, however many runs it has.
const LAST_RUNS = `
  SELECT thread.id AS "threadId", last.id, last.status, last.model, last.error
    FROM unnest($2::varchar[]) AS thread (id)
   CROSS JOIN LATERAL (
     SELECT id, status, model, error FROM runs
      WHERE organization_id = $1 AND thread_id = thread.id ORDER BY position DESC LIMIT 1
   ) last`;

const ASKED = 'message.organization_id = $1 AND message.thread_id = thread.id AND message.superseded_by IS NULL';
const FIRST_QUESTIONS = `
  SELECT thread.id, ${questionAmong(ASKED, '$3')} AS question FROM unnest($2::varchar[]) AS thread (id)`;

@Injectable()
export class ThreadRepository {
  constructor(@InjectRepository(ThreadEntity) private readonly threads: Repository<ThreadEntity>) {}

  /** Inserts the thread unless its id is taken. Returns true if it was inserted. */
  async insertIfAbsent(thread: NewThread): Promise<boolean> {
    const result: InsertResult = await this.threads
      .createQueryBuilder()
      .insert()
      .values(thread)
      .orIgnore()
      .returning('id')
      .execute();
    return (result.raw as unknown[]).length === 1;
  }

  async insert(manager: EntityManager, thread: NewThread): Promise<void> {
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

  /** The beginning of the first message of a person in each thread, by thread; without those that have no text. */
  async findQuestions(organizationId: string, ids: readonly string[]): Promise<Map<string, string>> {
    if (ids.length === 0) return new Map();
    const values = [organizationId, ids, questionBytes(ids.length)];
    const rows: { id: string; question: string | null }[] = await this.threads.query(FIRST_QUESTIONS, values);
    return new Map(rows.flatMap(({ id, question }) => (question === null ? [] : [[id, question]])));
  }

  /** Deletes the thread with its messages and runs if it is transient and no run is open. */
  async deleteTransient(organizationId: string, id: string): Promise<void> {
    await this.threads.query(
      `DELETE FROM threads WHERE organization_id = $1 AND id = $2 AND is_transient AND status <> 'in_progress'`,
      [organizationId, id],
    );
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
