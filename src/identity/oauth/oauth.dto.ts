import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsISO8601,
  IsString,
  IsUUID,
  Length,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { Type } from 'class-transformer';
import { MayBeNull } from '../../core/validation/presence.js';

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
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => OauthGrantItem)
  items: OauthGrantItem[];
}

export class OauthGrantRevokeInput {
  @IsUUID()
  id: string;
}

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

  /** Where the client may be sent back to: https, loopback (any port) or a custom scheme. */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @IsString({ each: true })
  @MaxLength(2048, { each: true })
  redirect_uris: string[];
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

  @IsISO8601()
  created_at: string;
}

export class OauthClientOutput {
  @ValidateNested()
  @Type(() => OauthClientItem)
  item: OauthClientItem;
}

export class OauthClientList {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => OauthClientItem)
  items: OauthClientItem[];
}

export class OauthClientDeleteInput {
  @IsUUID()
  id: string;
}
