import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { LongReads } from '../../platform/database/long-reads.js';
import type { StatsRange, TimeRange } from '../../core/paging/time-range.js';
import type { CallGrouping } from './monitoring.dto.js';

/** Counts of a set of records. `latency` holds p50, p95 and p99 in milliseconds, without denied calls. */
export interface Counts {
  calls: number;
  successes: number;
  errors: number;
  denied: number;
  latency: [number, number, number] | null;
}

export interface ToolCounts extends Counts {
  connectionId: string | null;
  toolName: string;
}

/** Counts of a bucket, or of all of them. */
export interface CountsAt extends Counts {
  /** The start of the bucket; null for the sum of all. */
  at: Date | null;
}

interface GroupCounts extends CountsAt {
  lastAt: Date;
  /** The id of the connection, agent, key or person. */
  group: string | null;
}

interface ToolCountsAt extends ToolCounts, CountsAt {}

interface StatsQuestion extends StatsRange {
  readonly organizationId: string;
  readonly connectionId: string | null;
  readonly toolName: string | null;
  readonly includesManagement: boolean;
  readonly groupBy: CallGrouping | undefined;
  /** The only groups to count; undefined: those with the most calls. */
  readonly groups: readonly string[] | undefined;
  /** Whether to count the total and the groups over time. */
  readonly isOverTime: boolean;
}

const COUNTS = `
  count(*)::integer AS calls,
  (count(*) FILTER (WHERE status = 'success'))::integer AS successes,
  (count(*) FILTER (WHERE status = 'error'))::integer AS errors,
  (count(*) FILTER (WHERE status = 'denied'))::integer AS denied,
  percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration_ms)
    FILTER (WHERE status <> 'denied') AS latency`;

const IN_QUESTION = `
  organization_id = $1 AND at >= $2 AND at < $3
  AND ($4::uuid IS NULL OR connection_id = $4) AND ($5::text IS NULL OR tool_name = $5)
  AND ($6::boolean OR connection_id IS NOT NULL)`;

const bucket = (parameter: string): string => `date_bin(${parameter}::bigint * interval '1 second', at, 'epoch')`;

const TOTAL = `SELECT NULL AS at, ${COUNTS} FROM audit_records WHERE ${IN_QUESTION}`;

// Sorts all records by their time and again by their durations: half as long again as the total alone.
const TOTAL_OVER_TIME = `
  SELECT bucket AS at, ${COUNTS}
  FROM (SELECT ${bucket('$7')} AS bucket, status, duration_ms FROM audit_records WHERE ${IN_QUESTION}) calls
  GROUP BY GROUPING SETS ((), (bucket))
  ORDER BY grouping(bucket) DESC, bucket`;

// Without percentiles, which would sort all records instead of hashing them.
const MOST_CALLED = `
  SELECT connection_id AS "connectionId", tool_name AS "toolName"
  FROM audit_records WHERE ${IN_QUESTION}
  GROUP BY connection_id, tool_name
  ORDER BY count(*) DESC, tool_name, connection_id
  LIMIT $7`;

const GROUPS: Readonly<Record<CallGrouping, string>> = {
  connection: 'connection_id',
  agent: 'agent_id',
  key: 'api_key_id',
  person: 'user_id',
};

const byGroup = (grouping: CallGrouping): string => `
  SELECT ${GROUPS[grouping]} AS "group", NULL AS at, max(at) AS "lastAt", ${COUNTS}
  FROM audit_records WHERE ${IN_QUESTION} AND ($8::uuid[] IS NULL OR ${GROUPS[grouping]} = ANY($8))
  GROUP BY 1 ORDER BY calls DESC, 1 LIMIT $7`;

const groupsOverTime = (grouping: CallGrouping): string => `
  SELECT "group", bucket AS at, max(at) AS "lastAt", ${COUNTS}
  FROM (
    SELECT ${GROUPS[grouping]} AS "group", ${bucket('$7')} AS bucket, at, status, duration_ms
    FROM audit_records
    WHERE ${IN_QUESTION} AND (${GROUPS[grouping]} = ANY($8::uuid[]) OR $9::boolean AND ${GROUPS[grouping]} IS NULL)
  ) calls
  GROUP BY "group", bucket ORDER BY bucket`;

// Each tool's total first, without a bucket, then over time. Records of management tools have a null connection id:
// hence IS NOT DISTINCT FROM.
const OF_TOOLS = `
  SELECT connection_id AS "connectionId", tool_name AS "toolName", bucket AS at, ${COUNTS}
  FROM (
    SELECT connection_id, tool_name, ${bucket('$7')} AS bucket, status, duration_ms
    FROM audit_records
    WHERE ${IN_QUESTION} AND EXISTS (
      SELECT FROM unnest($8::uuid[], $9::text[]) AS listed (listed_connection, listed_tool)
      WHERE tool_name = listed_tool AND connection_id IS NOT DISTINCT FROM listed_connection
    )
  ) calls
  GROUP BY GROUPING SETS ((connection_id, tool_name), (connection_id, tool_name, bucket))
  ORDER BY grouping(bucket) DESC, bucket, calls DESC, tool_name, connection_id`;

const PATHS = `
  SELECT api_key_id AS "apiKeyId", user_id AS "userId", agent_id AS "agentId", connection_id AS "connectionId",
         count(*)::integer AS calls,
         (count(*) FILTER (WHERE status = 'error'))::integer AS errors,
         (count(*) FILTER (WHERE status = 'denied'))::integer AS denied
    FROM audit_records
   WHERE organization_id = $1 AND at >= $2 AND at < $3 AND connection_id IS NOT NULL
   GROUP BY api_key_id, user_id, agent_id, connection_id
   ORDER BY calls DESC, connection_id, agent_id, api_key_id, user_id
   LIMIT $4`;

/** Calls of one caller to one connection, perhaps through an agent. Without key and person, the caller had neither. */
export interface CallPath {
  readonly apiKeyId: string | null;
  readonly userId: string | null;
  readonly agentId: string | null;
  readonly connectionId: string;
  readonly calls: number;
  readonly errors: number;
  readonly denied: number;
}

/** Counts audit records. */
@Injectable()
export class AuditStatsRepository {
  constructor(private readonly reads: LongReads) {}

  /**
   * Reads everything from one snapshot, so that the counts add up. Returns the `max` tools, and groups, with the most
   * calls; over time also at most `max` of the groups that are asked for.
   */
  count(
    question: StatsQuestion,
    max: number,
    callerLeft: AbortSignal,
  ): Promise<{
    total: Counts;
    overTime: CountsAt[];
    ofTools: ToolCountsAt[];
    byGroup: GroupCounts[];
    groupSteps: GroupCounts[];
    truncated: boolean;
  }> {
    const {
      organizationId,
      from,
      to,
      connectionId,
      toolName,
      includesManagement,
      bucketSeconds,
      groupBy,
      groups: asked,
      isOverTime,
    } = question;
    const maxGroups = isOverTime ? Math.min(asked?.length ?? max, max) : (asked?.length ?? max);
    const scope = [organizationId, from, to, connectionId, toolName, includesManagement];
    return this.reads.read(organizationId, callerLeft, async (manager) => {
      const [total, ...overTime] = isOverTime
        ? await rows<CountsAt>(manager, TOTAL_OVER_TIME, [...scope, bucketSeconds])
        : await rows<CountsAt>(manager, TOTAL, scope);
      if (total === undefined) throw new Error('An aggregate of all rows has one row.');
      const found = await rows<Pick<ToolCounts, 'connectionId' | 'toolName'>>(manager, MOST_CALLED, [
        ...scope,
        max + 1,
      ]);
      const most = found.slice(0, max);
      const listed = [most.map((tool) => tool.connectionId), most.map((tool) => tool.toolName)];
      const ofTools = await rows<ToolCountsAt>(manager, OF_TOOLS, [...scope, bucketSeconds, ...listed]);
      const groups =
        groupBy === undefined
          ? []
          : await rows<GroupCounts>(manager, byGroup(groupBy), [...scope, maxGroups + 1, asked ?? null]);
      const shown = groups.slice(0, maxGroups);
      const ids = shown.map(({ group }) => group);
      const groupSteps =
        groupBy === undefined || !isOverTime
          ? []
          : await rows<GroupCounts>(manager, groupsOverTime(groupBy), [
              ...scope,
              bucketSeconds,
              ids,
              ids.includes(null),
            ]);
      const truncated = found.length > max || groups.length > shown.length;
      return { total, overTime, ofTools, byGroup: shown, groupSteps, truncated };
    });
  }

  /** The `max` ways on which most calls went, without those of management tools. */
  countPaths(organizationId: string, { from, to }: TimeRange, max: number, callerLeft: AbortSignal) {
    return this.reads.read(organizationId, callerLeft, (manager) =>
      rows<CallPath>(manager, PATHS, [organizationId, from, to, max]),
    );
  }
}

function rows<T>(manager: EntityManager, statement: string, parameters: unknown[]): Promise<T[]> {
  return manager.query(statement, parameters);
}
