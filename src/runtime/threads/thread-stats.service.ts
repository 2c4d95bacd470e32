import { Injectable } from '@nestjs/common';
import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { databaseDate } from '../../core/database-time.js';
import { readStatsRange, type StatsRange } from '../../core/paging/time-range.js';
import { compileWhere } from '../../core/paging/where-clause.js';
import type { Principal } from '../../core/principal.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { requireReadableTexts } from './message-texts.js';
import { requireVisibleCosts, THREAD_LIST, THREAD_TEXTS } from './thread-list.js';
import type { ThreadStats, ThreadStatsInput } from './thread-stats.dto.js';
import { THREAD_STATUSES, ThreadEntity } from './thread.entity.js';

const MAX_FAILURES = 50;

type Counts = ThreadStats['total'];

/** A bucket of time, all threads, or those with failed runs of one code. */
interface CountedSet extends Counts {
  readonly at: Date | null;
  readonly code: string | null;
}

// One read of the threads in question, which a search can have to find among many messages.
const COUNTS = `
  SELECT at, NULL AS code, count(*)::integer AS threads,
         ${THREAD_STATUSES.map((status) => `(count(*) FILTER (WHERE status = '${status}'))::integer AS ${status}`).join(', ')}
    FROM question GROUP BY GROUPING SETS ((), (at))
  UNION ALL (
    SELECT NULL, run.error ->> 'code', count(DISTINCT run.thread_id)::integer, 0, 0, 0
      FROM runs run JOIN question ON question.organization_id = run.organization_id AND question.id = run.thread_id
     WHERE run.status = 'failed' AND run.error ->> 'code' IS NOT NULL
     GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT ${MAX_FAILURES + 1})
  ORDER BY at, threads DESC, code`;

/** Counts the threads of an organization over time. A thread belongs to the time when it was created. */
@Injectable()
export class ThreadStatsService {
  constructor(private readonly reads: LongReads) {}

  /**
   * @throws DomainError `invalid_request`; `permission_denied` for a search that needs to read messages, or for costs
   *   that the caller may not see
   */
  async stats(input: ThreadStatsInput, caller: Principal, { callerLeft }: HeldAnswer): Promise<ThreadStats> {
    requireReadableTexts(caller, input.where, THREAD_TEXTS);
    requireVisibleCosts(caller, input);
    const range = readStatsRange(input, databaseDate());
    const { id } = caller.organization;
    const sets = await this.reads.readFound(id, input.where, callerLeft, (manager) => {
      const [sql, values] = inQuestion(manager, id, range, input.where).getQueryAndParameters();
      return manager.query<CountedSet[]>(`WITH question AS MATERIALIZED (${sql}) ${COUNTS}`, values);
    });
    const total = sets.find(({ at, code }) => at === null && code === null);
    if (total === undefined) throw new Error('The grouping set without columns has one row.');
    const buckets = sets.flatMap((set) => (set.at === null ? [] : [{ at: set.at.toISOString(), ...toCounts(set) }]));
    const failures = sets.flatMap(({ code, threads }) => (code === null ? [] : [{ code, threads }]));
    return {
      from: range.from.toISOString(),
      to: range.to.toISOString(),
      bucket_seconds: range.bucketSeconds,
      total: toCounts(total),
      over_time: buckets,
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
