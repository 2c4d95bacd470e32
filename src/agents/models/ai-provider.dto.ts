import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsObject,
  IsString,
  IsUUID,
  Matches,
  MaxLength,
  NotEquals,
  ValidateNested,
} from 'class-validator';
import { MAX_BASE_URL_LENGTH } from './base-url.js';
import { IsModelName } from './model-name.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { PROVIDER_KINDS, type ProviderKind } from './provider-kind.js';
import { ItemOf } from '../../core/paging/page-of.js';

/** Masks a stored key in responses. In an update, it keeps the stored key. */
export const MASKED_KEY = '***';

const TITLE = /^[^\x00-\x1f\x7f-\x9f]{1,128}$/u;
const TITLE_RULE = { message: 'must be 1 to 128 characters without control characters' };
/** A key is sent in a header, so it can contain only visible ASCII and spaces (RFC 9110 §5.5). */
const API_KEY = /^[\x20-\x7e]{1,4096}$/;
const API_KEY_RULE = { message: 'must be 1 to 4096 printable ASCII characters' };
const MASK_RULE = { message: 'must be a key; *** only masks a stored key in responses' };

export class AiProviderData {
  @Matches(TITLE, TITLE_RULE)
  title: string;

  @IsIn(PROVIDER_KINDS)
  kind: ProviderKind;

  /** Required for `openai-compatible`: the URL that `/chat/completions` is appended to. */
  @MayBeAbsent()
  @MayBeNull()
  @IsString()
  @MaxLength(MAX_BASE_URL_LENGTH)
  base_url?: string | null;

  @MayBeAbsent()
  @MayBeNull()
  @Matches(API_KEY, API_KEY_RULE)
  @NotEquals(MASKED_KEY, MASK_RULE)
  api_key?: string | null;
}

export class AiProviderCreateInput {
  @IsObject()
  @ValidateNested()
  @Type(() => AiProviderData)
  data: AiProviderData;
}

/** Absent properties keep their value. */
export class AiProviderChange {
  @MayBeAbsent()
  @Matches(TITLE, TITLE_RULE)
  title?: string;

  @MayBeAbsent()
  @IsIn(PROVIDER_KINDS)
  kind?: ProviderKind;

  @MayBeAbsent()
  @MayBeNull()
  @IsString()
  @MaxLength(MAX_BASE_URL_LENGTH)
  base_url?: string | null;

  /** A new key; null removes the stored one, `***` keeps it. */
  @MayBeAbsent()
  @MayBeNull()
  @Matches(API_KEY, API_KEY_RULE)
  api_key?: string | null;
}

export class AiProviderUpdateInput {
  @IsUUID()
  id: string;

  @IsObject()
  @ValidateNested()
  @Type(() => AiProviderChange)
  data: AiProviderChange;
}

export class AiProviderDeleteInput {
  @IsUUID()
  id: string;
}

export class AiProviderListInput {}

export class AiProviderTestInput {
  @IsUUID()
  id: string;

  @IsModelName()
  model: string;
}

/** A provider as returned to callers: it shows whether a key is stored, never the key. */
export class AiProviderItem {
  @IsUUID()
  id: string;

  @IsString()
  title: string;

  @IsIn(PROVIDER_KINDS)
  kind: ProviderKind;

  @MayBeNull()
  @IsString()
  base_url: string | null;

  @MayBeNull()
  @IsIn([MASKED_KEY])
  api_key: typeof MASKED_KEY | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class AiProviderAnswer extends ItemOf(AiProviderItem) {}

export class AiProviderList {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => AiProviderItem)
  items: AiProviderItem[];
}

export class AiProviderTested {
  @IsBoolean()
  ok: boolean;

  /** Duration until the answer ended or the test failed. */
  @IsInt()
  latency_ms: number;

  /** Why the test failed, in a sentence; absent when it passed. */
  @MayBeAbsent()
  @IsString()
  error?: string;
}
