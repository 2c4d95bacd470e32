import { IsBoolean, IsIn, IsISO8601, IsString, IsUUID, Length, Matches, MaxLength } from 'class-validator';
import { CreateOf, IdInput, UpdateOf } from '../../core/validation/item-input.js';
import { CALLER_ID } from '../../core/ids.js';
import { ItemOf, PageOf } from '../../core/paging/page-of.js';
import { RUN_STATUSES, type RunStatus } from '../../core/run-status.js';
import { type Tier, TIERS } from '../../core/tier.js';
import { ChangeOf, MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { Nested } from '../../core/validation/nested.js';
import { type Overlap, OVERLAPS } from './schedule.entity.js';

const MAX_MESSAGE_LENGTH = 100_000;
const THREAD_ID_RULE = { message: 'must be the id of a thread' };

export class ScheduleData {
  @IsString()
  @Length(1, 256)
  title: string;

  /** The agent. */
  @IsUUID()
  virtual_mcp_id: string;

  /** The thread of all runs. Without it, each run gets a thread. */
  @MayBeAbsent()
  @MayBeNull()
  @Matches(CALLER_ID, THREAD_ID_RULE)
  thread_id?: string | null;

  /** Five fields: minute, hour, day of month, month, day of week. */
  @IsString()
  @MaxLength(256)
  cron: string;

  /** A name of the IANA database, by default UTC. */
  @MayBeAbsent()
  @IsString()
  @MaxLength(64)
  timezone?: string;

  /** The text of the user message. */
  @IsString()
  @Length(1, MAX_MESSAGE_LENGTH)
  message: string;

  @MayBeAbsent()
  @MayBeNull()
  @IsIn(TIERS)
  tier?: Tier | null;

  /** While the previous run of the schedule is open: `skip` (default) the time, or `queue` the run. */
  @MayBeAbsent()
  @IsIn(OVERLAPS)
  overlap?: Overlap;

  /** Whether a time that was missed while no process ran is made up for, once. */
  @MayBeAbsent()
  @IsBoolean()
  catch_up?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  enabled?: boolean;
}

export class ScheduleCreateInput extends CreateOf(ScheduleData) {}

/** Absent properties keep their value. */
export class ScheduleChange extends ChangeOf(ScheduleData) {}

export class ScheduleUpdateInput extends UpdateOf(ScheduleChange) {}

export class ScheduleIdInput extends IdInput {}

export class ScheduleRunItem {
  @IsUUID()
  id: string;

  @IsIn(RUN_STATUSES)
  status: RunStatus;
}

/** A schedule as returned to callers. */
export class ScheduleItem {
  @IsUUID()
  id: string;

  @IsString()
  title: string;

  @IsUUID()
  virtual_mcp_id: string;

  @MayBeNull()
  @IsString()
  thread_id: string | null;

  @IsString()
  cron: string;

  @IsString()
  timezone: string;

  @IsString()
  message: string;

  @MayBeNull()
  @IsIn(TIERS)
  tier: Tier | null;

  @IsIn(OVERLAPS)
  overlap: Overlap;

  @IsBoolean()
  catch_up: boolean;

  @IsBoolean()
  enabled: boolean;

  /** Why the service has disabled the schedule; null if it has not. */
  @MayBeNull()
  @IsString()
  disabled_reason: string | null;

  /** null while the schedule is disabled. */
  @MayBeNull()
  @IsISO8601()
  next_run_at: string | null;

  @MayBeNull()
  @IsISO8601()
  last_run_at: string | null;

  /** The run that the schedule posted last; null if there is none, or it is no longer stored. */
  @MayBeNull()
  @Nested(() => ScheduleRunItem)
  last_run: ScheduleRunItem | null;

  /** The last time at which the schedule posted no run. */
  @MayBeNull()
  @IsISO8601()
  last_skipped_at: string | null;

  @MayBeNull()
  @IsString()
  last_skip_reason: string | null;

  /** The person for whom the runs act; null for a key of the organization. */
  @MayBeNull()
  @IsUUID()
  user_id: string | null;

  @MayBeNull()
  @IsUUID()
  api_key_id: string | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class ScheduleOutput extends ItemOf(ScheduleItem) {}

export class SchedulePage extends PageOf(ScheduleItem) {}

export class ScheduleRunOutput {
  /** The id of the run. */
  @IsUUID()
  taskId: string;

  @IsString()
  thread_id: string;
}
