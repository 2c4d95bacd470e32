import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNumber,
  IsString,
  IsUUID,
  MaxLength,
} from 'class-validator';
import { PageOf } from '../../core/paging/page-of.js';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { AnyJson, MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { CallerItem } from '../caller.dto.js';
import { ENTRY_POINTS, AUDIT_STATUSES, type EntryPoint, type AuditStatus } from './audit-record.js';

/** One tool invocation. */
export class MonitoringLogItem extends CallerItem {
  @IsUUID()
  id: string;

  /** Start of the invocation. */
  @IsISO8601()
  at: string;

  @IsIn(ENTRY_POINTS)
  door: EntryPoint;

  /** Null for management tools. */
  @MayBeNull()
  @IsUUID()
  connection_id: string | null;

  /** Names are current ones, or the last ones of what was deleted. */
  @MayBeNull()
  @IsString()
  connection_title: string | null;

  @MayBeNull()
  @IsUUID()
  agent_id: string | null;

  @IsString()
  tool_name: string;

  @IsIn(AUDIT_STATUSES)
  status: AuditStatus;

  @MayBeNull()
  @IsString()
  error_code: string | null;

  @IsNumber()
  duration_ms: number;

  @MayBeNull()
  @IsUUID()
  run_id: string | null;

  @IsString()
  request_id: string;

  /** Whether the call was allowed because the tool is public. */
  @IsBoolean()
  public: boolean;

  /** Redacted; null unless AUDIT_SETTINGS_UPDATE has turned recording on. `{truncated: true, bytes}` if too large. */
  @AnyJson()
  arguments: unknown;

  /** The tool's result, in the same form; also null if the tool did not answer. */
  @AnyJson()
  result: unknown;
}

export class MonitoringLogPage extends PageOf(MonitoringLogItem) {}

/** As many as a page of a list has at most. */
const MAX_ASKED_GROUPS = 1000;

const CALL_GROUPINGS = ['connection', 'agent', 'key', 'person'] as const;
export type CallGrouping = (typeof CALL_GROUPINGS)[number];

export class MonitoringStatsInput {
  /** ISO 8601 with an offset. Default: 24 hours before `to`. */
  @MayBeAbsent()
  @IsString()
  from?: string;

  /** ISO 8601 with an offset, exclusive. Default: now. */
  @MayBeAbsent()
  @IsString()
  to?: string;

  @MayBeAbsent()
  @IsUUID()
  connection_id?: string;

  @MayBeAbsent()
  @IsString()
  @MaxLength(256)
  tool_name?: string;

  /** Whether to count calls of the service's own management tools, which have no connection. Default: true. */
  @MayBeAbsent()
  @IsBoolean()
  include_management?: boolean;

  /** Counts the calls by this, too. */
  @MayBeAbsent()
  @IsIn(CALL_GROUPINGS)
  group_by?: CallGrouping;

  /** With `group_by`: counts these groups only, which is how to read those of a list in one request. */
  @MayBeAbsent()
  @IsArray()
  @ArrayMaxSize(MAX_ASKED_GROUPS)
  @IsUUID('all', { each: true })
  groups?: string[];

  /**
   * Whether all calls, and with `group_by` the groups, are also counted over time; at most 50 groups are counted then.
   * Default: false. Tools always are.
   */
  @MayBeAbsent()
  @IsBoolean()
  over_time?: boolean;
}

/** Milliseconds, without denied calls. */
class LatencyPercentiles {
  @IsNumber()
  p50: number;

  @IsNumber()
  p95: number;

  @IsNumber()
  p99: number;
}

export class CallStats {
  /** The sum of successes, errors and denied. */
  @IsInt()
  calls: number;

  @IsInt()
  successes: number;

  @IsInt()
  errors: number;

  @IsInt()
  denied: number;

  /** The share of errors among the calls that were not denied, from 0 to 1. */
  @IsNumber()
  error_rate: number;

  /** Null if all calls were denied or there were none. */
  @MayBeNull()
  @Nested(() => LatencyPercentiles)
  latency_ms: LatencyPercentiles | null;
}

export class CallStatsAt extends CallStats {
  /** Start of the bucket, which is `bucket_seconds` long. */
  @IsISO8601()
  at: string;
}

class ToolStats extends CallStats {
  @MayBeNull()
  @IsUUID()
  connection_id: string | null;

  @MayBeNull()
  @IsString()
  connection_title: string | null;

  @IsString()
  tool_name: string;

  /** Oldest first. Buckets without calls are omitted. */
  @NestedList(() => CallStatsAt)
  over_time: CallStatsAt[];
}

class CallGroup extends CallStats {
  /** Start of its last call in the range. */
  @IsISO8601()
  last_at: string;

  /** The id of the connection, agent, API key or person; null for calls without one. */
  @MayBeNull()
  @IsUUID()
  group: string | null;

  /** The current name, or the last one of what was deleted. */
  @MayBeNull()
  @IsString()
  name: string | null;

  /** As that of a tool; empty without `over_time`. */
  @NestedList(() => CallStatsAt)
  over_time: CallStatsAt[];
}

export class MonitoringStats {
  @IsISO8601()
  from: string;

  @IsISO8601()
  to: string;

  @IsInt()
  bucket_seconds: number;

  @Nested(() => CallStats)
  total: CallStats;

  /**
   * All calls in question, oldest first; the sum is the total. Buckets without calls are omitted. Empty without
   * `over_time`.
   */
  @NestedList(() => CallStatsAt)
  over_time: CallStatsAt[];

  /** The tools with the most calls, in descending order. */
  @NestedList(() => ToolStats)
  tools: ToolStats[];

  /** The groups of `group_by` with the most calls, in descending order; empty without it. */
  @NestedList(() => CallGroup)
  groups: CallGroup[];

  /** Whether tools or groups were omitted. Request an omitted tool by its name. */
  @IsBoolean()
  truncated: boolean;
}
