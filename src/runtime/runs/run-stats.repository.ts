import { Injectable } from '@nestjs/common';
import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import type { StatsRange, TimeRange } from '../../core/paging/time-range.js';
import { compileWhere } from '../../core/paging/where-clause.js';
import { RUN_STATUSES } from '../../core/run-status.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { RUN_DURATION, RUN_LIST } from './records/run-list.js';
import { RunEntity } from './records/run.entity.js';
import type { RunCounts } from './run-stats.dto.js';

/** Counts of a set of runs. `duration` holds p50, p95 and p99 in milliseconds. */
export interface CountedRuns extends Omit<Readonly<RunCounts>, 'duration_ms'> {
  readonly duration: readonly [number, number, number] | null;
}

/** One row of the answer: the total, a bucket of time, an agent, a model, or the code of an error. */
export interface CountedSet extends CountedRuns {
  readonly kind: 'total' | 'bucket' | 'agent' | 'model' | 'failure';
  readonly at: Date | null;
  readonly agentId: string | null;
  readonly model: string | null;
  readonly code: string | null;
}

interface RunQuestion extends StatsRange {
  readonly organizationId: string;
  readonly agentId: string | undefined;
  /** Of RUN_LIST. */
  readonly where: Readonly<Record<string, unknown>> | undefined;
}

const DURATION = `CASE WHEN run.status IN ('completed', 'failed') THEN CAST(${RUN_DURATION} AS float8) END`;

const tokensOf = (field: string): string => `CAST(run.usage ->> '${field}' AS numeric)`;

/** The columns of the runs in question, which one scan reads, and unpacks, for all groupings. */
const COLUMNS: readonly (readonly [string, string])[] = [
  [`date_bin(CAST(:bucketSeconds AS bigint) * interval '1 second', run.createdAt, 'epoch')`, 'at'],
  ['run.agentId', 'agent_id'],
  ['run.model', 'model'],
  ['run.status', 'status'],
  [tokensOf('inputTokens'), 'input_tokens'],
  [tokensOf('outputTokens'), 'output_tokens'],
  ['run.costUsd', 'cost_usd'],
  [`run.costUsd IS NULL AND ${tokensOf('totalTokens')} > 0`, 'is_unpriced'],
  [DURATION, 'duration'],
  [`CASE WHEN run.status = 'failed' THEN run.error ->> 'code' END`, 'code'],
];

/** What the rows of a grouping have in common; null is a model as well. */
const groupOf = (sets: string): string => `coalesce(${sets}.at::text, ${sets}.agent_id::text, ${sets}.model, '')`;

/**
 * The counts of all groupings come from hash tables. Percentiles need a sorted copy of the runs for each grouping, so
 * that they are computed from little more than the durations, and joined.
 */
const SETS = `
  counted AS (
    SELECT CASE grouping(at, agent_id, model, code) WHEN 7 THEN 'bucket' WHEN 11 THEN 'agent' WHEN 13 THEN 'model'
             WHEN 14 THEN 'failure' ELSE 'total' END AS kind,
           at, agent_id, model, code, count(*)::integer AS runs,
           ${RUN_STATUSES.map((status) => `(count(*) FILTER (WHERE status = '${status}'))::integer AS ${status}`).join(', ')},
           coalesce(sum(input_tokens), 0)::float8 AS input_tokens,
           coalesce(sum(output_tokens), 0)::float8 AS output_tokens,
           sum(cost_usd) AS cost_usd, (count(*) FILTER (WHERE is_unpriced))::integer AS unpriced_runs
      FROM question GROUP BY GROUPING SETS ((), (at), (agent_id), (model), (code))
  ), lasted AS (
    SELECT CASE grouping(at, agent_id, model) WHEN 3 THEN 'bucket' WHEN 5 THEN 'agent' WHEN 6 THEN 'model'
             ELSE 'total' END AS kind,
           at, agent_id, model,
           percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration) AS duration
      FROM question WHERE duration IS NOT NULL GROUP BY GROUPING SETS ((), (at), (agent_id), (model))
  )
  SELECT counted.*, counted.agent_id AS "agentId", lasted.duration
    FROM counted LEFT JOIN lasted
      ON lasted.kind = counted.kind AND ${groupOf('lasted')} = ${groupOf('counted')}
        AND lasted.model IS NOT DISTINCT FROM counted.model
   ORDER BY counted.at, runs DESC, counted.agent_id, counted.model, code`;

const WAITING = `
  SELECT count(*)::integer AS count FROM runs JOIN run_approvals ON run_approvals.run_id = runs.id
   WHERE runs.organization_id = $1 AND runs.status = 'waiting' AND run_approvals.closed_at IS NULL`;

const APPROVALS = `
  SELECT r.api_key_id AS "apiKeyId", r.user_id AS "userId", r.agent_id AS "agentId",
         asked.connection_id AS "connectionId", count(*)::integer AS requested,
         (count(*) FILTER (WHERE asked.approved))::integer AS approved,
         (count(*) FILTER (WHERE NOT asked.approved))::integer AS denied
    FROM runs r JOIN run_approvals asked ON asked.run_id = r.id
   WHERE r.organization_id = $1 AND r.created_at >= $2 AND r.created_at < $3
   GROUP BY r.api_key_id, r.user_id, r.agent_id, asked.connection_id
   ORDER BY requested DESC, asked.connection_id, r.agent_id, r.api_key_id, r.user_id
   LIMIT $4`;

/** Approvals that runs of one caller and agent have asked for, for calls of one connection. */
export interface ApprovalPath {
  readonly apiKeyId: string | null;
  readonly userId: string | null;
  readonly agentId: string;
  readonly connectionId: string;
  readonly requested: number;
  readonly approved: number;
  readonly denied: number;
}

/** Counts runs, their tokens and durations. */
@Injectable()
export class RunStatsRepository {
  constructor(private readonly reads: LongReads) {}

  /** @throws DomainError as `LongReads.read` and `compileWhere` */
  count(question: RunQuestion, callerLeft: AbortSignal): Promise<{ sets: CountedSet[]; waitingApprovals: number }> {
    const { organizationId } = question;
    return this.reads.readFound(organizationId, question.where, callerLeft, async (manager) => {
      const [sql, values] = inQuestion(manager, question).getQueryAndParameters();
      const sets: CountedSet[] = await manager.query(`WITH question AS MATERIALIZED (${sql}), ${SETS}`, values);
      const [{ count: waitingApprovals }]: [{ count: number }] = await manager.query(WAITING, [organizationId]);
      return { sets, waitingApprovals };
    });
  }

  /** Of the runs that were posted in the range: the `max` ways with most approvals. @throws as `LongReads.read` */
  countApprovals(
    organizationId: string,
    { from, to }: TimeRange,
    max: number,
    callerLeft: AbortSignal,
  ): Promise<ApprovalPath[]> {
    return this.reads.read(organizationId, callerLeft, (manager) =>
      manager.query(APPROVALS, [organizationId, from, to, max]),
    );
  }
}

function inQuestion(manager: EntityManager, question: RunQuestion): SelectQueryBuilder<RunEntity> {
  const { agentId, where, ...parameters } = question;
  const query = manager
    .createQueryBuilder(RunEntity, 'run')
    .where('run.organizationId = :organizationId AND run.createdAt >= :from AND run.createdAt < :to', parameters);
  query.select([]);
  for (const [column, name] of COLUMNS) query.addSelect(column, name);
  if (agentId !== undefined) query.andWhere('run.agentId = :agentId', { agentId });
  if (where !== undefined) {
    const { sql, parameters: values } = compileWhere(where, RUN_LIST);
    query.andWhere(sql, values);
  }
  return query;
}
