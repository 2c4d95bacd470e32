import { IsBoolean, IsInt, IsISO8601, IsNumber, IsObject, IsString, IsUUID } from 'class-validator';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';

export class RunStatsInput {
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
  agent_id?: string;

  /** Counts only the runs that this `where` of RUN_LIST selects. */
  @MayBeAbsent()
  @IsObject()
  where?: Record<string, unknown>;
}

/** Milliseconds from the start of a run to its end, without the time that it waited for approvals. */
class RunDurations {
  @IsNumber()
  p50: number;

  @IsNumber()
  p95: number;

  @IsNumber()
  p99: number;
}

export class RunCounts {
  /** The sum of the statuses. */
  @IsInt()
  runs: number;

  @IsInt()
  queued: number;

  @IsInt()
  running: number;

  @IsInt()
  waiting: number;

  @IsInt()
  completed: number;

  @IsInt()
  failed: number;

  @IsInt()
  cancelled: number;

  @IsNumber()
  input_tokens: number;

  @IsNumber()
  output_tokens: number;

  /** In US dollars, at the prices of the time of each run; null if no run had a price. */
  @MayBeNull()
  @IsNumber()
  cost_usd: number | null;

  /** The runs that used tokens of a model without a price. They have no cost. */
  @IsInt()
  unpriced_runs: number;

  /** Of completed and failed runs; null if there are none. */
  @MayBeNull()
  @Nested(() => RunDurations)
  duration_ms: RunDurations | null;
}

class RunCountsAt extends RunCounts {
  /** Start of the bucket, which is `bucket_seconds` long. */
  @IsISO8601()
  at: string;
}

class AgentRunCounts extends RunCounts {
  @IsUUID()
  agent_id: string;

  /** The current title, or the last one of an agent that was deleted. */
  @MayBeNull()
  @IsString()
  agent_title: string | null;
}

class ModelRunCounts extends RunCounts {
  /** Null for runs that no model has answered. */
  @MayBeNull()
  @IsString()
  model: string | null;
}

class FailedRuns {
  @IsString()
  code: string;

  @IsInt()
  runs: number;
}

export class RunStats {
  @IsISO8601()
  from: string;

  @IsISO8601()
  to: string;

  @IsInt()
  bucket_seconds: number;

  @Nested(() => RunCounts)
  total: RunCounts;

  /** Oldest first. Buckets without runs are omitted. */
  @NestedList(() => RunCountsAt)
  over_time: RunCountsAt[];

  /** The agents with the most runs, in descending order. */
  @NestedList(() => AgentRunCounts)
  agents: AgentRunCounts[];

  /** The models with the most runs, in descending order. */
  @NestedList(() => ModelRunCounts)
  models: ModelRunCounts[];

  /** The failed runs by the code of their error, the most frequent first. */
  @NestedList(() => FailedRuns)
  failures: FailedRuns[];

  /** The approvals that somebody can answer now, whatever the time range. */
  @IsInt()
  waiting_approvals: number;

  /** Whether agents, models or failures were omitted. USAGE_STATS lists up to 1,000. */
  @IsBoolean()
  truncated: boolean;
}
