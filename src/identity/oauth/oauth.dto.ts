import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsISO8601,
  IsObject,
  IsString,
  IsUUID,
  Length,
  MaxLength,
} from 'class-validator';
import { IdInput } from '../../core/validation/item-input.js';
import type { PermissionMap } from '../../core/permissions.js';
import { IsPermissionMap } from '../../core/validation/is-permission-map.js';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { JwksInput } from './client-keys.js';
import { CLIENT_AUTHS, type ClientAuth } from './records/oauth-client.entity.js';

/** RFC 7523 §2.1 */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The grants of clients that send nobody to the consent page. */
const UNATTENDED_GRANTS = ['client_credentials', JWT_BEARER_GRANT] as const;
type UnattendedGrant = (typeof UNATTENDED_GRANTS)[number];

const CONFIDENTIAL_AUTHS = ['secret', 'jwks'] as const;
type ConfidentialAuth = (typeof CONFIDENTIAL_AUTHS)[number];

/** The input of a tool without parameters. */
export class NoInput {}

/** One sign-in of a person with a client. */
export class OauthGrantItem {
  @IsUUID()
  id: string;

  @IsUUID()
  user_id: string;

  @IsString()
  user_email: string;

  @IsString()
  client_id: string;

  @IsString()
  client_name: string;

  /** The path that its tokens open, such as `/api/acme/mcp/<connectionId>`. */
  @IsString()
  resource: string;

  @IsString()
  scope: string;

  @MayBeNull()
  @IsISO8601()
  last_used_at: string | null;

  @IsISO8601()
  created_at: string;
}

export class OauthGrantList {
  @NestedList(() => OauthGrantItem)
  items: OauthGrantItem[];
}

export class OauthGrantRevokeInput extends IdInput {}

export class OauthRemoved {
  @IsBoolean()
  success: true;

  @IsUUID()
  id: string;
}

export class OauthClientCreateInput {
  /** Shown to people who are asked for consent. */
  @IsString()
  @Length(1, 128)
  name: string;

  /**
   * Where the client may be sent back to: https, loopback (any port) or a custom scheme. Required without
   * `grant_types`, and only then.
   */
  @MayBeAbsent()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @IsString({ each: true })
  @MaxLength(2048, { each: true })
  redirect_uris?: string[];

  /**
   * How a client without a browser gets its tokens: for itself (`client_credentials`), or for a person for whom an
   * identity provider of `TRUSTED_ISSUERS` vouches (`urn:ietf:params:oauth:grant-type:jwt-bearer`), but not both.
   * Absent for a client that sends people to the consent page.
   */
  @MayBeAbsent()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(UNATTENDED_GRANTS, { each: true })
  grant_types?: UnattendedGrant[];

  /** What the client may do for itself, within the caller's own permissions. Required for `client_credentials`. */
  @MayBeAbsent()
  @IsPermissionMap()
  permissions?: PermissionMap;

  /** With `grant_types`: whether the client has a secret (default), or signs with keys of its own. */
  @MayBeAbsent()
  @IsIn(CONFIDENTIAL_AUTHS)
  auth?: ConfidentialAuth;

  /** With `auth: jwks`: the client's public keys. */
  @MayBeAbsent()
  @IsObject()
  @Nested(() => JwksInput)
  jwks?: JwksInput;
}

export class OauthClientItem {
  @IsUUID()
  id: string;

  @IsString()
  client_id: string;

  @IsString()
  name: string;

  @IsArray()
  @IsString({ each: true })
  redirect_uris: string[];

  @IsArray()
  @IsString({ each: true })
  grant_types: string[];

  @IsIn(CLIENT_AUTHS)
  auth: ClientAuth;

  /** The API key with whose rights the client acts for itself. It is listed, changed and limited like any other. */
  @MayBeNull()
  @IsUUID()
  api_key_id: string | null;

  @IsISO8601()
  created_at: string;
}

export class OauthClientCreated {
  @Nested(() => OauthClientItem)
  item: OauthClientItem;

  /** Only this response contains it; absent for a client without a secret. */
  @MayBeAbsent()
  @IsString()
  client_secret?: string;
}

export class OauthClientList {
  @NestedList(() => OauthClientItem)
  items: OauthClientItem[];
}

export class OauthClientDeleteInput extends IdInput {}
