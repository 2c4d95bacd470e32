import { Equals, IsIn, IsInt, IsISO8601, IsString, IsUUID, Length, Max, Min } from 'class-validator';
import { type KeyRateLimit, MAX_LIMIT_VALUE, type SpendLimit } from '../../core/limits.js';
import type { PermissionMap } from '../../core/permissions.js';
import { IsPermissionMap } from '../../core/validation/is-permission-map.js';
import {
  MayHaveWarnings,
  SpendLimitInput,
  SpendLimitItem,
  type WarningItem,
  WarnedItemOf,
} from '../../core/spend-limit.dto.js';
import { IsLimit } from '../../core/validation/is-limit.js';
import { IsOptionalObject, Nested } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { PageOf } from '../../core/paging/page-of.js';

/** A hundred years. Longer lifetimes are probably mistakes and could exceed the range of dates. */
const MAX_LIFETIME_SECONDS = 3_155_760_000;

/** An absent member keeps its value, and null clears it. */
class KeyRateLimitInput {
  /** HTTP requests of the key, in windows of 60 s. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_LIMIT_VALUE)
  per_minute?: number | null;
}

/** The limits that are set. */
class KeyRateLimitItem {
  @MayBeAbsent()
  @IsLimit(MAX_LIMIT_VALUE)
  per_minute?: number;
}

export class ApiKeyCreateInput {
  /** Human-readable label. */
  @IsString()
  @Length(1, 64)
  name: string;

  @IsPermissionMap()
  permissions: PermissionMap;

  /** Lifetime in seconds. If omitted, the key does not expire. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_LIFETIME_SECONDS)
  expiresIn?: number;

  /** If omitted or null, the requests of the key are not limited. */
  @IsOptionalObject(() => KeyRateLimitInput)
  rate_limit?: KeyRateLimitInput | null;

  /** What the model calls of its runs, and of those of the keys that it makes, can cost. */
  @IsOptionalObject(() => SpendLimitInput)
  spend?: SpendLimitInput | null;
}

export class ApiKeyUpdateInput {
  @IsUUID()
  id: string;

  @MayBeAbsent()
  @IsString()
  @Length(1, 64)
  name?: string;

  @MayBeAbsent()
  @IsPermissionMap()
  permissions?: PermissionMap;

  /** The time from now until the key expires, in seconds. Null removes the expiry. */
  @MayBeAbsent()
  @MayBeNull()
  @IsInt()
  @Min(1)
  @Max(MAX_LIFETIME_SECONDS)
  expiresIn?: number | null;

  /** Null removes the limit. */
  @IsOptionalObject(() => KeyRateLimitInput)
  rate_limit?: KeyRateLimitInput | null;

  /** Null removes the limit. */
  @IsOptionalObject(() => SpendLimitInput)
  spend?: SpendLimitInput | null;
}

const CHILDREN_OF_DELETED = ['delete', 'keep'] as const;

export class ApiKeyDeleteInput {
  @IsUUID()
  id: string;

  /** What happens to the keys that were made with the key, and by those: they are deleted too (default), or kept. */
  @MayBeAbsent()
  @IsIn(CHILDREN_OF_DELETED)
  children?: (typeof CHILDREN_OF_DELETED)[number];
}

/** A key that made another. */
class MakerKeyItem {
  @IsUUID()
  id: string;

  @IsString()
  name: string;
}

/** A listed key, without its value. */
export class ApiKeyItem {
  @IsUUID()
  id: string;

  @IsString()
  name: string;

  /** The first characters of the value, for recognition. */
  @IsString()
  prefix: string;

  @IsPermissionMap()
  permissions: PermissionMap;

  @MayBeNull()
  @Nested(() => KeyRateLimitItem)
  rate_limit: KeyRateLimit | null;

  @MayBeNull()
  @Nested(() => SpendLimitItem)
  spend: SpendLimit | null;

  /** The key that made it; null if a person or the service did. */
  @MayBeNull()
  @Nested(() => MakerKeyItem)
  maker_key: MakerKeyItem | null;

  @MayBeNull()
  @IsISO8601()
  expires_at: string | null;

  @MayBeNull()
  @IsISO8601()
  last_used_at: string | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

/** A created key. Only this response contains the key's value. */
export class ApiKeyCreated {
  @IsUUID()
  id: string;

  @IsString()
  name: string;

  @IsString()
  key: string;

  @IsPermissionMap()
  permissions: PermissionMap;

  /** Absent without a limit. */
  @MayBeAbsent()
  @Nested(() => KeyRateLimitItem)
  rate_limit?: KeyRateLimit;

  /** Absent without a limit. */
  @MayBeAbsent()
  @Nested(() => SpendLimitItem)
  spend?: SpendLimit;

  @MayBeNull()
  @IsISO8601()
  expires_at: string | null;

  @IsISO8601()
  created_at: string;

  /** The models without a price, which no run under a spending limit calls; absent if there are none. */
  @MayHaveWarnings()
  warnings?: WarningItem[];
}

export class ApiKeyPage extends PageOf(ApiKeyItem) {}

export class ApiKeyUpdated extends WarnedItemOf(ApiKeyItem) {}

export class ApiKeyDeleted {
  @Equals(true)
  success: true;

  @IsUUID()
  id: string;

  /** How many keys were made with the key, and by those. They were deleted too, unless `children` was `keep`. */
  @IsInt()
  @Min(0)
  children: number;
}
