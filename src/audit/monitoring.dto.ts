import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNumber,
  IsString,
  IsUUID,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { PageOf } from '../common/paging/page-of.js';
import { AnyJson, MayBeAbsent, MayBeNull } from '../common/validation/presence.js';
import { ENTRY_POINTS, AUDIT_STATUSES, type EntryPoint, type AuditStatus } from './audit-record.js';

/** One tool invocation as it is shown. */
export class MonitoringLogItem {
  @IsUUID()
  id: string;

  /** When the invocation began. */
  @IsISO8601()
  at: string;

  @IsIn(ENTRY_POINTS)
  door: EntryPoint;

  /** Null for the management tools of `self`. */
  @MayBeNull()
  @IsUUID()
  connection_id: string | null;

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

  /** Null for a caller without a credential. */
  @MayBeNull()
  @IsUUID()
  user_id: string | null;

  @MayBeNull()
  @IsUUID()
  api_key_id: string | null;

  @MayBeNull()
  @IsUUID()
  run_id: string | null;

  @IsString()
  request_id: string;

  /** Was it allowed because the tool is public? */
  @IsBoolean()
  public: boolean;

  /** Redacted; null unless AUDIT_SETTINGS_UPDATE has switched recording on. Too much becomes `{truncated: true, bytes}`. */
  @AnyJson()
  arguments: unknown;

  /** The same of what the tool answered; null too if it did not answer. */
  @AnyJson()
  result: unknown;
}

export class MonitoringLogPage extends PageOf(MonitoringLogItem) {}

export class MonitoringStatsInput {
  /** ISO 8601 with an offset; 24 hours before `to` unless told. */
  @MayBeAbsent()
  @IsString()
  from?: string;

  /** ISO 8601 with an offset, not included; now unless told. */
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
}

/** Milliseconds, over the calls that were let through. */
export class LatencyPercentiles {
  @IsNumber()
  p50: number;

  @IsNumber()
  p95: number;

  @IsNumber()
  p99: number;
}

export class CallStats {
  /** All of them: successes, errors and denied. */
  @IsInt()
  calls: number;

  @IsInt()
  successes: number;

  @IsInt()
  errors: number;

  @IsInt()
  denied: number;

  /** The share of errors among the calls that were let through, 0 to 1. */
  @IsNumber()
  error_rate: number;

  /** Null when no call was let through. */
  @MayBeNull()
  @ValidateNested()
  @Type(() => LatencyPercentiles)
  latency_ms: LatencyPercentiles | null;
}

export class CallStatsAt extends CallStats {
  /** Where the bucket begins; it is `bucket_seconds` long. */
  @IsISO8601()
  at: string;
}

export class ToolStats extends CallStats {
  @MayBeNull()
  @IsUUID()
  connection_id: string | null;

  @IsString()
  tool_name: string;

  /** Oldest first; buckets without a call are left out. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => CallStatsAt)
  over_time: CallStatsAt[];
}

export class MonitoringStats {
  @IsISO8601()
  from: string;

  @IsISO8601()
  to: string;

  @IsInt()
  bucket_seconds: number;

  @ValidateNested()
  @Type(() => CallStats)
  total: CallStats;

  /** The tools that were called most, most calls first. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ToolStats)
  tools: ToolStats[];

  /** Were there more tools than are listed? Then ask for one by name. */
  @IsBoolean()
  truncated: boolean;
}
