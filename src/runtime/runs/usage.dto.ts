import { IsBoolean, IsIn, IsInt, IsISO8601, IsNumber, IsString, IsUUID } from 'class-validator';
import { SPEND_PERIODS, SPEND_SCOPES, type SpendPeriod, type SpendScope } from './records/run-spending.js';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';

const USAGE_GROUPINGS = ['agent', 'model', 'key', 'person', 'day'] as const;
export type UsageGrouping = (typeof USAGE_GROUPINGS)[number];

export class UsageStatsInput {
  /** ISO 8601 with an offset; 30 days before `to` if it is absent. */
  @MayBeAbsent()
  @IsString()
  from?: string;

  /** ISO 8601 with an offset, not included; now if it is absent. */
  @MayBeAbsent()
  @IsString()
  to?: string;

  @IsIn(USAGE_GROUPINGS)
  by: UsageGrouping;
}

export class UsageCounts {
  /** All runs that were posted: completed, failed, cancelled, and those that are not over. */
  @IsInt()
  runs: number;

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

  @IsNumber()
  total_tokens: number;

  /** In US dollars, at the prices of the time of each run; null if no run had a price. */
  @MayBeNull()
  @IsNumber()
  cost_usd: number | null;

  /** The runs that used tokens of a model without a price. They have no cost. */
  @IsInt()
  unpriced_runs: number;
}

export class UsageGroup extends UsageCounts {
  /**
   * The id of the agent, of the API key or of the person, the name of the model, or the day in UTC (`2026-01-31`). Null
   * for runs without an API key or person, and for runs that no model has answered yet.
   */
  @MayBeNull()
  @IsString()
  group: string | null;
}

/** A spending limit and its current window. */
export class SpendUsage {
  @IsIn(SPEND_SCOPES)
  scope: SpendScope;

  /** Of the organization, the agent, the API key or the member. */
  @IsUUID()
  id: string;

  /** The agent's title, else the name; of a person without a name the e-mail address, or null. */
  @MayBeNull()
  @IsString()
  name: string | null;

  @IsIn(SPEND_PERIODS)
  period: SpendPeriod;

  /** When the UTC day or month began. */
  @IsISO8601()
  starts_at: string;

  /** When the next window begins. */
  @IsISO8601()
  ends_at: string;

  /** In US dollars, like all amounts. */
  @IsNumber()
  limit_usd: number;

  @IsNumber()
  used_usd: number;

  /** What model calls in progress, and runs that wait for their first one, can still cost. */
  @IsNumber()
  reserved_usd: number;

  /** Zero once more is used and reserved than the limit allows, for example because it was lowered. */
  @IsNumber()
  left_usd: number;
}

export class UsageStats {
  @IsISO8601()
  from: string;

  @IsISO8601()
  to: string;

  @IsIn(USAGE_GROUPINGS)
  by: UsageGrouping;

  @Nested(() => UsageCounts)
  total: UsageCounts;

  /** Days oldest first, all others by their tokens, most first. */
  @NestedList(() => UsageGroup)
  groups: UsageGroup[];

  /** True if there are more groups than are listed. Their runs count in the total. */
  @IsBoolean()
  truncated: boolean;

  /** The spending limits that are set, with what is used, reserved and left now; those with the least left first. */
  @NestedList(() => SpendUsage)
  spend: SpendUsage[];
}
