import { Injectable } from '@nestjs/common';
import type { StatsRange } from '../../core/paging/stats-range.js';
import type { TimeRange } from '../../core/paging/time-range.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { COSTS, tokens } from './usage.repository.js';

/** Counts of a set of runs. `duration` holds p50, p95 and p99 in milliseconds. */
export interface CountedRuns {
  readonly runs: number;
  readonly queued: number;
  readonly running: number;
  readonly waiting: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number | null;
  readonly unpriced_runs: number;
  readonly duration: readonly [number, number, number] | null;
}

/** One row of the answer: the total, a bucket of time, an agent, or a model. */
export interface CountedSet extends CountedRuns {
  readonly kind: 'total' | 'bucket' | 'agent' | 'model';
  readonly at: Date | null;
  readonly agentId: string | null;
  readonly model: string | null;
}

interface RunQuestion extends StatsRange {
  readonly organizationId: string;
  readonly agentId: string | null;
}

const STATUSES = ['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled'] as const;

// One scan of the runs in question, for all groupings.
const COUNT = `
  WITH question AS MATERIALIZED (
    SELECT date_bin($5::bigint * interval '1 second', created_at, 'epoch') AS at, agent_id, model, status, usage,
           cost_usd, CASE WHEN status IN ('completed', 'failed')
                THEN extract(epoch FROM finished_at - started_at)::float8 * 1000 - waited_ms END AS duration
      FROM runs
     WHERE organization_id = $1 AND created_at >= $2 AND created_at < $3 AND ($4::uuid IS NULL OR agent_id = $4)
  )
  SELECT CASE grouping(at, agent_id, model) WHEN 3 THEN 'bucket' WHEN 5 THEN 'agent' WHEN 6 THEN 'model'
    ELSE 'total' END AS kind,
         at, agent_id AS "agentId", model, count(*)::integer AS runs,
         ${STATUSES.map((status) => `(count(*) FILTER (WHERE status = '${status}'))::integer AS ${status}`).join(', ')},
         ${tokens('inputTokens')} AS input_tokens, ${tokens('outputTokens')} AS output_tokens, ${COSTS},
         percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration)
           FILTER (WHERE duration IS NOT NULL) AS duration
    FROM question
   GROUP BY GROUPING SETS ((), (at), (agent_id), (model))
   ORDER BY at, runs DESC, agent_id, model`;

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

  /** @throws DomainError as `LongReads.read` */
  count(question: RunQuestion, callerLeft: AbortSignal): Promise<{ sets: CountedSet[]; waitingApprovals: number }> {
    const { organizationId, from, to, agentId, bucketSeconds } = question;
    return this.reads.read(organizationId, callerLeft, async (manager) => {
      const sets: CountedSet[] = await manager.query(COUNT, [organizationId, from, to, agentId, bucketSeconds]);
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
