import { Injectable } from '@nestjs/common';
import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { databaseDate } from '../../core/database-time.js';
import { readStatsRange, type StatsRange } from '../../core/paging/stats-range.js';
import { compileWhere } from '../../core/paging/where-clause.js';
import type { Principal } from '../../core/principal.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { requireReadableTexts } from './message-search.js';
import { THREAD_LIST, THREAD_TEXTS } from './thread-list.js';
import type { ThreadStats, ThreadStatsInput } from './thread-stats.dto.js';
import { THREAD_STATUSES, ThreadEntity } from './thread.entity.js';

const MAX_FAILURES = 50;

type Counts = ThreadStats['total'];
type CountsAt = Counts & { readonly at: Date | null };

const COUNTS = `
  SELECT at, count(*)::integer AS threads,
         ${THREAD_STATUSES.map((status) => `(count(*) FILTER (WHERE status = '${status}'))::integer AS ${status}`).join(', ')}
    FROM question GROUP BY GROUPING SETS ((), (at)) ORDER BY at NULLS FIRST`;

/** Reads the failed runs of the organization, or those of the threads in question, whichever are fewer. */
const FAILURES = `
  SELECT run.error ->> 'code' AS code, count(DISTINCT run.thread_id)::integer AS threads
    FROM runs run JOIN question ON question.organization_id = run.organization_id AND question.id = run.thread_id
   WHERE run.status = 'failed' AND run.error ->> 'code' IS NOT NULL
   GROUP BY 1 ORDER BY threads DESC, code LIMIT ${MAX_FAILURES + 1}`;

/** Counts the threads of an organization over time. A thread belongs to the time when it was created. */
@Injectable()
export class ThreadStatsService {
  constructor(private readonly reads: LongReads) {}

  /** @throws DomainError `invalid_request`, `permission_denied` for a search that needs to read messages */
  async stats(input: ThreadStatsInput, caller: Principal, { callerLeft }: HeldAnswer): Promise<ThreadStats> {
    requireReadableTexts(caller, input.where, THREAD_TEXTS);
    const range = readStatsRange(input, databaseDate());
    const { id } = caller.organization;
    const { counts, failures } = await this.reads.read(id, callerLeft, async (manager) => {
      const [sql, values] = inQuestion(manager, id, range, input.where).getQueryAndParameters();
      const question = `WITH question AS MATERIALIZED (${sql})`;
      return {
        counts: await manager.query<CountsAt[]>(`${question} ${COUNTS}`, values),
        failures: await manager.query<ThreadStats['failures']>(`${question} ${FAILURES}`, values),
      };
    });
    const [total, ...buckets] = counts;
    if (total === undefined) throw new Error('The grouping set without columns has one row.');
    return {
      from: range.from.toISOString(),
      to: range.to.toISOString(),
      bucket_seconds: range.bucketSeconds,
      total: toCounts(total),
      over_time: buckets.map((bucket) => ({ at: bucket.at?.toISOString() ?? '', ...toCounts(bucket) })),
      failures: failures.slice(0, MAX_FAILURES),
      truncated: failures.length > MAX_FAILURES,
    };
  }
}

function inQuestion(
  manager: EntityManager,
  organizationId: string,
  range: StatsRange,
  where: Record<string, unknown> | undefined,
): SelectQueryBuilder<ThreadEntity> {
  const query = manager
    .createQueryBuilder(ThreadEntity, 'thread')
    .select(`date_bin(CAST(:bucketSeconds AS bigint) * interval '1 second', thread.createdAt, 'epoch')`, 'at')
    .addSelect('thread.organizationId', 'organization_id')
    .addSelect('thread.id', 'id')
    .addSelect('thread.status', 'status')
    .where('thread.organizationId = :organizationId AND thread.createdAt >= :from AND thread.createdAt < :to', {
      organizationId,
      ...range,
    });
  if (where === undefined) return query;
  const { sql, parameters } = compileWhere(where, THREAD_LIST);
  return query.andWhere(sql, parameters);
}

function toCounts({ threads, in_progress, completed, failed }: Counts): Counts {
  return { threads, in_progress, completed, failed };
}
