import { Injectable } from '@nestjs/common';
import type { TimeRange } from '../../core/paging/time-range.js';
import { LongReads } from '../../platform/database/long-reads.js';
import type { SpendUsage, UsageCounts, UsageGroup, UsageGrouping } from './usage.dto.js';

const GROUPS: Readonly<Record<UsageGrouping, string>> = {
  agent: 'agent_id::text',
  model: 'model',
  key: 'api_key_id::text',
  person: 'user_id::text',
  day: `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
};

/** SQL: the sum of a field of the usage of runs. */
const tokens = (field: string): string => `coalesce(sum((usage->>'${field}')::numeric), 0)::float8`;

/** SQL: the sum of the costs of runs, and how many of them used a model that had no price. */
const COSTS = `
  sum(cost_usd) AS cost_usd,
  (count(*) FILTER (WHERE cost_usd IS NULL AND (usage->>'totalTokens')::numeric > 0))::integer AS unpriced_runs`;

const COUNTS = `
  count(*)::integer AS runs,
  (count(*) FILTER (WHERE status = 'completed'))::integer AS completed,
  (count(*) FILTER (WHERE status = 'failed'))::integer AS failed,
  (count(*) FILTER (WHERE status = 'cancelled'))::integer AS cancelled,
  ${tokens('inputTokens')} AS input_tokens,
  ${tokens('outputTokens')} AS output_tokens,
  ${tokens('totalTokens')} AS total_tokens,
  ${COSTS}`;

/** One read of the runs counts them in all and by group; the total comes first. */
const countsBy = (group: string, order: string): string => `
  SELECT "group", ${COUNTS}
    FROM (SELECT ${group} AS "group", status, usage, cost_usd
            FROM runs WHERE organization_id = $1 AND created_at >= $2 AND created_at < $3) question
   GROUP BY GROUPING SETS ((), ("group")) ORDER BY grouping("group") DESC, ${order} LIMIT $4`;

/** The limits that are most used come first. */
const SPEND = `
  SELECT scope, subject_id AS id,
         CASE scope WHEN 'organization' THEN (SELECT name FROM organizations WHERE id = subject_id)
                    WHEN 'agent' THEN (SELECT title FROM connections WHERE id = subject_id)
                    WHEN 'key' THEN (SELECT name FROM api_keys WHERE id = subject_id)
                    ELSE (SELECT coalesce(nullif(name, ''), email) FROM users WHERE id = user_id) END AS name,
         period, starts_at, spend_window_end(period, starts_at) AS ends_at,
         usd::float8 AS limit_usd, used::float8 AS used_usd, reserved::float8 AS reserved_usd,
         greatest(usd - used - reserved, 0)::float8 AS left_usd
    FROM (
      SELECT limits.scope, limits.subject_id, limits.user_id, limits.period, usd, current.starts_at,
             coalesce(spent.used, spend_before($1, limits.scope, limits.subject_id, current.starts_at)) AS used,
             coalesce(spent.reserved, 0) AS reserved
        FROM spend_limits AS limits
        CROSS JOIN LATERAL (SELECT spend_window_start(limits.period) AS starts_at) AS current
        LEFT JOIN spend_windows AS spent
          ON spent.organization_id = $1 AND spent.scope = limits.scope AND spent.subject_id = limits.subject_id
            AND spent.period = limits.period AND spent.starts_at = current.starts_at
       WHERE limits.organization_id = $1
    ) AS windows
   ORDER BY (used + reserved) / usd DESC, scope, id, period LIMIT $2`;

/** What is counted, of one organization. */
interface UsageQuestion extends TimeRange {
  readonly organizationId: string;
  readonly by: UsageGrouping;
}

type SpendRow = Omit<SpendUsage, 'starts_at' | 'ends_at'> & { starts_at: Date; ends_at: Date };

/** Counts runs and their tokens. */
@Injectable()
export class UsageRepository {
  constructor(private readonly reads: LongReads) {}

  /**
   * The total and its groups from one snapshot, so that they add up; one group more than `maxGroups` if there are more.
   * Also the current windows of spending limits, at most `maxGroups`.
   * @throws DomainError as `LongReads.read`
   */
  async count(
    question: UsageQuestion,
    maxGroups: number,
    callerLeft: AbortSignal,
  ): Promise<{ total: UsageCounts; groups: UsageGroup[]; spend: SpendUsage[] }> {
    const { organizationId, from, to, by } = question;
    const order = by === 'day' ? '"group"' : 'total_tokens DESC, runs DESC, "group"';
    return this.reads.read(organizationId, callerLeft, async (manager) => {
      const rows: UsageGroup[] = await manager.query(countsBy(GROUPS[by], order), [
        organizationId,
        from,
        to,
        maxGroups + 2,
      ]);
      const [total, ...counted] = rows.map(({ group, ...counts }) => ({ group, counts }));
      if (total === undefined) throw new Error('The grouping set without columns has one row.');
      const groups = counted.map(({ group, counts }) => ({ group, ...counts }));
      const windows: SpendRow[] = await manager.query(SPEND, [organizationId, maxGroups]);
      const spend = windows.map(({ starts_at, ends_at, ...window }) => ({
        ...window,
        starts_at: starts_at.toISOString(),
        ends_at: ends_at.toISOString(),
      }));
      return { total: total.counts, groups, spend };
    });
  }
}
