import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditRepository } from './audit.repository.js';
import type { StatsRange } from '../common/paging/stats-range.js';
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

export interface GroupCounts extends Counts {
  /** The id of the connection, agent, key or person. */
  group: string | null;
}

export interface ToolCountsAt extends ToolCounts {
  at: Date;
}

export interface StatsQuestion extends StatsRange {
  readonly organizationId: string;
  readonly connectionId: string | null;
  readonly toolName: string | null;
  readonly groupBy: CallGrouping | undefined;
}

const COUNTS = `
  count(*)::integer AS calls,
  (count(*) FILTER (WHERE status = 'success'))::integer AS successes,
  (count(*) FILTER (WHERE status = 'error'))::integer AS errors,
  (count(*) FILTER (WHERE status = 'denied'))::integer AS denied,
  percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration_ms) FILTER (WHERE status <> 'denied') AS latency`;

const IN_QUESTION = `
  organization_id = $1 AND at >= $2 AND at < $3
  AND ($4::uuid IS NULL OR connection_id = $4) AND ($5::text IS NULL OR tool_name = $5)`;

const TOTAL = `SELECT ${COUNTS} FROM audit_records WHERE ${IN_QUESTION}`;

const BY_TOOL = `
  SELECT connection_id AS "connectionId", tool_name AS "toolName", ${COUNTS}
  FROM audit_records WHERE ${IN_QUESTION}
  GROUP BY connection_id, tool_name
  ORDER BY calls DESC, tool_name, connection_id
  LIMIT $6`;

const GROUPS: Readonly<Record<CallGrouping, string>> = {
  connection: 'connection_id',
  agent: 'agent_id',
  key: 'api_key_id',
  person: 'user_id',
};

const byGroup = (grouping: CallGrouping): string => `
  SELECT ${GROUPS[grouping]} AS "group", ${COUNTS}
  FROM audit_records WHERE ${IN_QUESTION}
  GROUP BY 1 ORDER BY calls DESC, 1 LIMIT $6`;

// Records of management tools have a null connection id: hence IS NOT DISTINCT FROM.
const OVER_TIME = `
  SELECT connection_id AS "connectionId", tool_name AS "toolName",
    to_timestamp(floor(extract(epoch FROM at) / $6::bigint) * $6::bigint) AS at, ${COUNTS}
  FROM audit_records
  WHERE ${IN_QUESTION} AND EXISTS (
    SELECT FROM unnest($7::uuid[], $8::text[]) AS listed (listed_connection, listed_tool)
    WHERE tool_name = listed_tool AND connection_id IS NOT DISTINCT FROM listed_connection
  )
  GROUP BY connection_id, tool_name, 3
  ORDER BY 3`;

/** Counts audit records. */
@Injectable()
export class AuditStatsRepository {
  constructor(private readonly records: AuditRepository) {}

  /** Reads everything from one snapshot, so that the counts add up. Returns the `max` tools, and groups, with the most calls. */
  count(
    question: StatsQuestion,
    max: number,
  ): Promise<{
    total: Counts;
    byTool: ToolCounts[];
    overTime: ToolCountsAt[];
    byGroup: GroupCounts[];
    truncated: boolean;
  }> {
    const { organizationId, from, to, connectionId, toolName, bucketSeconds, groupBy } = question;
    const scope = [organizationId, from, to, connectionId, toolName];
    return this.records.read(async (manager) => {
      const [total] = await rows<Counts>(manager, TOTAL, scope);
      if (total === undefined) throw new Error('An aggregate without GROUP BY has one row.');
      const found = await rows<ToolCounts>(manager, BY_TOOL, [...scope, max + 1]);
      const byTool = found.slice(0, max);
      const listed = [byTool.map((tool) => tool.connectionId), byTool.map((tool) => tool.toolName)];
      const overTime = await rows<ToolCountsAt>(manager, OVER_TIME, [...scope, bucketSeconds, ...listed]);
      const groups =
        groupBy === undefined ? [] : await rows<GroupCounts>(manager, byGroup(groupBy), [...scope, max + 1]);
      const truncated = found.length > max || groups.length > max;
      return { total, byTool, overTime, byGroup: groups.slice(0, max), truncated };
    });
  }
}

function rows<T>(manager: EntityManager, statement: string, parameters: unknown[]): Promise<T[]> {
  return manager.query(statement, parameters);
}
