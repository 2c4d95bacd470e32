import { IsIn, IsISO8601, IsString, IsUUID, Length } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { MAX_FILE_BYTES, MAX_LIMIT_VALUE, type OrganizationLimits } from '../../core/limits.js';
import { MODEL_RECORDINGS, type ModelRecording } from '../../core/model-recording.js';
import type { PermissionMap } from '../../core/permissions.js';
import type { RunAccess } from '../../core/principal.js';
import type { Retention } from './organization.entity.js';
import { IsPermissionMap } from '../../core/validation/is-permission-map.js';
import { SpendLimitInput, SpendLimitItem, WarnedItemOf } from '../../core/spend-limit.dto.js';
import { IsLimit } from '../../core/validation/is-limit.js';
import { IsOptionalObject, Nested } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';

const RUN_ACCESS: readonly RunAccess[] = ['members', 'granted'];
const RUN_ACCESS_DESCRIPTION =
  'members: every valid credential of the organization can run agents and read streams. granted: only one whose ' +
  'permissions name the agent.';

const MODEL_RECORDING_DESCRIPTION =
  'What is recorded of model calls for RUN_MODEL_CALL_GET. off: nothing beside times, tokens and costs. redacted: the ' +
  'shape of what was sent and answered, with a size and a hash in place of each text. full: also the texts.';

/** A hundred years. */
const MAX_DAYS = 36_500;

/** An absent member keeps its value, and null clears it. */
class OrganizationLimitsInput {
  /** HTTP requests with a credential of the organization, in windows of 60 s. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_LIMIT_VALUE)
  requests_per_minute?: number | null;

  /** Requests for a run, in windows of 60 s. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_LIMIT_VALUE)
  runs_per_minute?: number | null;

  /** Runs in progress at the same time; more of them wait. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_LIMIT_VALUE)
  concurrent_runs?: number | null;

  /** Waiting runs; more of them are refused. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_LIMIT_VALUE)
  waiting_runs?: number | null;

  /** The bytes of all files; equal ones count once. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_FILE_BYTES)
  file_bytes?: number | null;

  /** What the model calls of the organization can cost. Null clears the limit. */
  @IsOptionalObject(() => SpendLimitInput)
  spend?: SpendLimitInput | null;
}

/** An absent member keeps its value. Null keeps threads and runs forever, which is the default. */
class RetentionInput {
  /** Threads without an open run are deleted this many days after their last change, with their messages and runs. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_DAYS)
  threads_days?: number | null;

  /** Records of ended runs are deleted this many days after their last change. Their messages stay. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_DAYS)
  runs_days?: number | null;

  /** What was recorded of model calls is deleted this many days later. Null is 30 days. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_DAYS)
  model_calls_days?: number | null;
}

/** The limits that are set. */
class OrganizationLimitsItem {
  @MayBeAbsent()
  @IsLimit(MAX_LIMIT_VALUE)
  requests_per_minute?: number;

  @MayBeAbsent()
  @IsLimit(MAX_LIMIT_VALUE)
  runs_per_minute?: number;

  @MayBeAbsent()
  @IsLimit(MAX_LIMIT_VALUE)
  concurrent_runs?: number;

  @MayBeAbsent()
  @IsLimit(MAX_LIMIT_VALUE)
  waiting_runs?: number;

  @MayBeAbsent()
  @IsLimit(MAX_FILE_BYTES)
  file_bytes?: number;

  @MayBeAbsent()
  @Nested(() => SpendLimitItem)
  spend?: SpendLimitItem;
}

/** The times that are set. */
class RetentionItem {
  @MayBeAbsent()
  @IsLimit(MAX_DAYS)
  threads_days?: number;

  @MayBeAbsent()
  @IsLimit(MAX_DAYS)
  runs_days?: number;

  @MayBeAbsent()
  @IsLimit(MAX_DAYS)
  model_calls_days?: number;
}

/** The input of a tool without parameters. */
export class OrganizationGetInput {}

export class OrganizationUpdateInput {
  @MayBeAbsent()
  @IsString()
  @Length(1, 128)
  name?: string;

  @MayBeAbsent()
  @IsPermissionMap()
  member_permissions?: PermissionMap;

  @MayBeAbsent()
  @IsIn(RUN_ACCESS)
  @JSONSchema({ description: RUN_ACCESS_DESCRIPTION })
  run_access?: RunAccess;

  /** Null clears all limits. */
  @IsOptionalObject(() => OrganizationLimitsInput)
  limits?: OrganizationLimitsInput | null;

  @MayBeAbsent()
  @IsIn(MODEL_RECORDINGS)
  @JSONSchema({ description: MODEL_RECORDING_DESCRIPTION })
  model_recording?: ModelRecording;

  /** Null clears all members. */
  @IsOptionalObject(() => RetentionInput)
  retention?: RetentionInput | null;
}

export class OrganizationItem {
  @IsUUID()
  id: string;

  @IsString()
  slug: string;

  @IsString()
  name: string;

  /** What every member holds, whatever the role. */
  @IsPermissionMap()
  member_permissions: PermissionMap;

  @IsIn(RUN_ACCESS)
  @JSONSchema({ description: RUN_ACCESS_DESCRIPTION })
  run_access: RunAccess;

  @Nested(() => OrganizationLimitsItem)
  limits: OrganizationLimits;

  @Nested(() => RetentionItem)
  retention: Retention;

  @IsIn(MODEL_RECORDINGS)
  @JSONSchema({ description: MODEL_RECORDING_DESCRIPTION })
  model_recording: ModelRecording;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class OrganizationOutput extends WarnedItemOf(OrganizationItem) {}
