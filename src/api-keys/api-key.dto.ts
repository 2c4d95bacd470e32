import { Equals, IsInt, IsISO8601, IsString, IsUUID, Length, Max, Min } from 'class-validator';
import type { PermissionMap } from '../common/permissions.js';
import { IsPermissionMap } from '../common/validation/is-permission-map.js';
import { MayBeAbsent, MayBeNull } from '../common/validation/presence.js';
import { ItemOf, PageOf } from '../common/paging/page-of.js';

/** A hundred years: longer lifetimes are a mistake, and dates end somewhere. */
const MAX_LIFETIME_SECONDS = 3_155_760_000;

export class ApiKeyCreateInput {
  /** Human-readable label. */
  @IsString()
  @Length(1, 64)
  name: string;

  @IsPermissionMap()
  permissions: PermissionMap;

  /** Lifetime in seconds; omitted means no expiry. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_LIFETIME_SECONDS)
  expiresIn?: number;
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
}

export class ApiKeyDeleteInput {
  @IsUUID()
  id: string;
}

/** A key as it is listed: never with its value. */
export class ApiKeyItem {
  @IsUUID()
  id: string;

  @IsString()
  name: string;

  /** The first characters of the value, to recognize it by. */
  @IsString()
  prefix: string;

  @IsPermissionMap()
  permissions: PermissionMap;

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

/** The answer to a creation: the only place where the value is ever shown. */
export class ApiKeyCreated {
  @IsUUID()
  id: string;

  @IsString()
  name: string;

  @IsString()
  key: string;

  @IsPermissionMap()
  permissions: PermissionMap;

  @MayBeNull()
  @IsISO8601()
  expires_at: string | null;

  @IsISO8601()
  created_at: string;
}

export class ApiKeyPage extends PageOf(ApiKeyItem) {}

export class ApiKeyUpdated extends ItemOf(ApiKeyItem) {}

export class ApiKeyDeleted {
  @Equals(true)
  success: true;

  @IsUUID()
  id: string;
}
