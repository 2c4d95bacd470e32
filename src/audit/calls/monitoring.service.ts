import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { databaseDate } from '../../core/database-time.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import type { ListInput } from '../../core/paging/list-input.js';
import { paginate } from '../../core/paging/paginate.js';
import { readStatsRange, type TimeRange } from '../../core/paging/time-range.js';
import type { Principal } from '../../core/principal.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { type NameOf, Names } from '../../core/names/names.js';
import type { AuditRecordEntity } from './audit-record.entity.js';
import { AuditRepository } from './audit.repository.js';
import {
  AuditStatsRepository,
  type CallPath,
  type Counts,
  type CountsAt,
  type ToolCounts,
} from './audit-stats.repository.js';
import type {
  CallStats,
  CallStatsAt,
  MonitoringLogItem,
  MonitoringLogPage,
  MonitoringStats,
  MonitoringStatsInput,
} from './monitoring.dto.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { ENTRY_POINTS, AUDIT_STATUSES } from './audit-record.js';

/** The fields that MONITORING_LOGS_LIST sorts and filters by. */
const AUDIT_LIST = {
  name: 'monitoring_logs',
  fields: {
    id: { column: 'record.id', type: 'uuid' },
    at: { column: 'record.at', type: 'date' },
    door: { column: 'record.entryPoint', type: 'enum', values: ENTRY_POINTS },
    connection_id: { column: 'record.connectionId', type: 'uuid', nullable: true },
    agent_id: { column: 'record.agentId', type: 'uuid', nullable: true },
    // Nullable, because a list cannot be ordered by an expression.
    management: { column: '(record.connectionId IS NULL)', type: 'boolean', nullable: true },
    tool_name: { column: 'record.toolName', type: 'string' },
    status: { column: 'record.status', type: 'enum', values: AUDIT_STATUSES },
    error_code: { column: 'record.errorCode', type: 'string', nullable: true },
    duration_ms: { column: 'record.durationMs', type: 'number' },
    user_id: { column: 'record.userId', type: 'uuid', nullable: true },
    api_key_id: { column: 'record.apiKeyId', type: 'uuid', nullable: true },
    run_id: { column: 'record.runId', type: 'uuid', nullable: true },
    request_id: { column: 'record.requestId', type: 'string' },
    public: { column: 'record.public', type: 'boolean' },
  },
  defaultOrder: [{ field: 'at', direction: 'desc' }],
  rowBytes: '1024 + json_octets(record.arguments) + json_octets(record.result)',
  tieBreaker: 'id',
} as const satisfies ListSpec;

const MAX_TOOLS = 50;

/** Lists and counts an organization's tool invocations. */
@Injectable()
export class MonitoringService {
  constructor(
    private readonly records: AuditRepository,
    private readonly reads: LongReads,
    private readonly counts: AuditStatsRepository,
    private readonly names: Names,
  ) {}

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<MonitoringLogPage> {
    const page = await this.reads.read(caller.organization.id, answer.callerLeft, (manager) =>
      paginate(this.records.queryOfOrganization(manager, caller.organization.id), AUDIT_LIST, input, answer, {
        isSnapshot: true,
      }),
    );
    return { ...page, items: await this.toItems(page.items) };
  }

  /**
   * All of the organization's invocations that `where` of MONITORING_LOGS_LIST selects, newest first, in batches.
   * @throws DomainError `invalid_request`, before the first batch
   */
  scan(
    where: Readonly<Record<string, unknown>> | undefined,
    caller: Principal,
    callerLeft: AbortSignal,
  ): AsyncGenerator<MonitoringLogItem[]> {
    const { id } = caller.organization;
    const queryOf = (manager: EntityManager) => this.records.queryOfOrganization(manager, id);
    return this.itemsOf(this.reads.scan(id, queryOf, AUDIT_LIST, where, callerLeft));
  }

  private async *itemsOf(batches: AsyncGenerator<AuditRecordEntity[]>): AsyncGenerator<MonitoringLogItem[]> {
    for await (const records of batches) yield await this.toItems(records);
  }

  private async toItems(records: readonly AuditRecordEntity[]): Promise<MonitoringLogItem[]> {
    const ids = records.flatMap(({ connectionId, userId, apiKeyId }) => [connectionId, userId, apiKeyId]);
    const nameOf = await this.names.find(ids);
    return records.map((record) => toItem(record, nameOf));
  }

  /**
   * From whom, through which agent and to which connection the organization's calls went: at most `max` ways.
   * @throws DomainError as `LongReads.read`
   */
  countPaths(caller: Principal, range: TimeRange, max: number, { callerLeft }: HeldAnswer): Promise<CallPath[]> {
    return this.counts.countPaths(caller.organization.id, range, max, callerLeft);
  }

  /** @throws DomainError `invalid_request` */
  async stats(input: MonitoringStatsInput, caller: Principal, { callerLeft }: HeldAnswer): Promise<MonitoringStats> {
    const range = readStatsRange(input, databaseDate());
    const { total, overTime, ofTools, byGroup, groupSteps, truncated } = await this.counts.count(
      {
        ...range,
        organizationId: caller.organization.id,
        connectionId: input.connection_id ?? null,
        toolName: input.tool_name ?? null,
        includesManagement: input.include_management ?? true,
        groupBy: input.group_by,
        groups: input.groups,
        isOverTime: input.over_time ?? false,
      },
      MAX_TOOLS,
      callerLeft,
    );
    const byTool = ofTools.filter(({ at }) => at === null);
    const ids = [...byTool.map(({ connectionId }) => connectionId), ...byGroup.map(({ group }) => group)];
    const nameOf = await this.names.find(ids);
    const stepsOfTool = Map.groupBy(ofTools, keyOf);
    const stepsOfGroup = Map.groupBy(groupSteps, ({ group }) => group);
    return {
      from: range.from.toISOString(),
      to: range.to.toISOString(),
      bucket_seconds: range.bucketSeconds,
      total: toStats(total),
      over_time: toSteps(overTime),
      tools: byTool.map((tool) => ({
        connection_id: tool.connectionId,
        connection_title: nameOf(tool.connectionId),
        tool_name: tool.toolName,
        ...toStats(tool),
        over_time: toSteps(stepsOfTool.get(keyOf(tool))),
      })),
      groups: byGroup.map((group) => ({
        group: group.group,
        name: nameOf(group.group),
        last_at: group.lastAt.toISOString(),
        ...toStats(group),
        over_time: toSteps(stepsOfGroup.get(group.group)),
      })),
      truncated,
    };
  }
}

function keyOf({ connectionId, toolName }: ToolCounts): string {
  return `${connectionId} ${toolName}`;
}

/** The buckets, without the sum of all. */
function toSteps(counts: readonly CountsAt[] = []): CallStatsAt[] {
  return counts.flatMap(({ at, ...step }) => (at === null ? [] : [{ at: at.toISOString(), ...toStats(step) }]));
}

function toStats({ calls, successes, errors, denied, latency }: Counts): CallStats {
  const allowed = successes + errors;
  return {
    calls,
    successes,
    errors,
    denied,
    error_rate: allowed === 0 ? 0 : errors / allowed,
    latency_ms: latency === null ? null : { p50: latency[0], p95: latency[1], p99: latency[2] },
  };
}

function toItem(record: AuditRecordEntity, nameOf: NameOf): MonitoringLogItem {
  return {
    id: record.id,
    at: record.at.toISOString(),
    door: record.entryPoint,
    connection_id: record.connectionId,
    connection_title: nameOf(record.connectionId),
    agent_id: record.agentId,
    tool_name: record.toolName,
    status: record.status,
    error_code: record.errorCode,
    duration_ms: record.durationMs,
    user_id: record.userId,
    user_email: nameOf(record.userId),
    api_key_id: record.apiKeyId,
    key_name: nameOf(record.apiKeyId),
    run_id: record.runId,
    request_id: record.requestId,
    public: record.public,
    arguments: record.arguments,
    result: record.result,
  };
}
