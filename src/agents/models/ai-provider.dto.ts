import { applyDecorators } from '@nestjs/common';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsString,
  IsUUID,
  Matches,
  MaxLength,
  NotEquals,
} from 'class-validator';
import { CreateOf, IdInput, UpdateOf } from '../../core/validation/item-input.js';
import { NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { MASKED_KEY } from './provider-columns.js';
import { PROVIDER_KINDS, type ProviderKind } from './model-kind.js';
import { ItemOf } from '../../core/paging/page-of.js';

/** The most characters that a stored base URL may have. */
const MAX_BASE_URL_LENGTH = 2048;

/**
 * The canonical form in which a provider's base URL is stored and used: as the WHATWG URL standard serializes it,
 * without a trailing slash, because paths such as `/chat/completions` are appended as text. Undefined for an invalid
 * base URL: not http or https, with credentials, a query or a fragment, or too long.
 */
export function canonicalBaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  // A lone `?` or `#` leaves `search` and `hash` empty but stays in `href`.
  if (url.username !== '' || url.password !== '' || /[?#]/.test(url.href)) return undefined;
  const canonical = url.href.replace(/\/+$/, '');
  return canonical.length <= MAX_BASE_URL_LENGTH ? canonical : undefined;
}

const TITLE = /^[^\x00-\x1f\x7f-\x9f]{1,128}$/u;
const TITLE_RULE = { message: 'must be 1 to 128 characters without control characters' };
const MODEL_NAME = /^[^\x00-\x1f\x7f-\x9f]{1,256}$/u;
/** How many models of a provider an answer names. */
export const MAX_MODELS = 1_000;
/** A key is sent in a header, so it can contain only visible ASCII and spaces (RFC 9110 §5.5). */
const SECRET = /^[\x20-\x7e]{1,4096}$/;
const SECRET_RULE = { message: 'must be 1 to 4096 printable ASCII characters' };
const MASK_RULE = { message: 'must be a key; *** only masks a stored key in responses' };
/** It becomes a part of a host name (RFC 1123 §2.1). */
const REGION = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const REGION_RULE = { message: 'must be the name of a region, such as eu-central-1' };
/** It becomes a part of a query. */
const API_VERSION = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const API_VERSION_RULE = { message: 'must be the name of a version, such as 2024-10-21' };

/** A property that can be absent or null; null stands for no value. */
function Clearable(...rules: PropertyDecorator[]): PropertyDecorator {
  return applyDecorators(...rules, MayBeNull(), MayBeAbsent());
}

/** A secret of a stored provider in an answer. */
function Masked(): PropertyDecorator {
  return applyDecorators(IsIn([MASKED_KEY]), MayBeNull());
}

/** The fields that are not secret. */
class PlainFields {
  /** Required for `openai-compatible`: the URL that `/chat/completions` is appended to, and for `azure`. */
  @Clearable(IsString(), MaxLength(MAX_BASE_URL_LENGTH))
  base_url?: string | null;

  @Clearable(Matches(API_VERSION, API_VERSION_RULE))
  api_version?: string | null;

  @Clearable(Matches(REGION, REGION_RULE))
  region?: string | null;
}

export class AiProviderData extends PlainFields {
  @Matches(TITLE, TITLE_RULE)
  title: string;

  @IsIn(PROVIDER_KINDS)
  kind: ProviderKind;

  @Clearable(Matches(SECRET, SECRET_RULE), NotEquals(MASKED_KEY, MASK_RULE))
  api_key?: string | null;

  @Clearable(Matches(SECRET, SECRET_RULE), NotEquals(MASKED_KEY, MASK_RULE))
  access_key_id?: string | null;

  @Clearable(Matches(SECRET, SECRET_RULE), NotEquals(MASKED_KEY, MASK_RULE))
  secret_access_key?: string | null;

  @Clearable(Matches(SECRET, SECRET_RULE), NotEquals(MASKED_KEY, MASK_RULE))
  session_token?: string | null;
}

export class AiProviderCreateInput extends CreateOf(AiProviderData) {}

/** Absent properties keep their value, null removes it, and `***` keeps a stored secret. */
export class AiProviderChange extends PlainFields {
  @MayBeAbsent()
  @Matches(TITLE, TITLE_RULE)
  title?: string;

  @MayBeAbsent()
  @IsIn(PROVIDER_KINDS)
  kind?: ProviderKind;

  @Clearable(Matches(SECRET, SECRET_RULE))
  api_key?: string | null;

  @Clearable(Matches(SECRET, SECRET_RULE))
  access_key_id?: string | null;

  @Clearable(Matches(SECRET, SECRET_RULE))
  secret_access_key?: string | null;

  @Clearable(Matches(SECRET, SECRET_RULE))
  session_token?: string | null;
}

export class AiProviderUpdateInput extends UpdateOf(AiProviderChange) {}

export class AiProviderDeleteInput extends IdInput {}

export class AiProviderListInput {}

export class AiProviderTestInput {
  @IsUUID()
  id: string;

  @IsModelName()
  model: string;
}

export class AiProviderModelsInput extends IdInput {}

/** A provider as returned to callers: it shows whether a secret is stored, never the secret. */
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

  @Masked()
  api_key: string | null;

  @MayBeNull()
  @IsString()
  api_version: string | null;

  @MayBeNull()
  @IsString()
  region: string | null;

  @Masked()
  access_key_id: string | null;

  @Masked()
  secret_access_key: string | null;

  @Masked()
  session_token: string | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class AiProviderAnswer extends ItemOf(AiProviderItem) {}

export class AiProviderList {
  @NestedList(() => AiProviderItem)
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

export class AiProviderModels {
  /** Sorted; empty when the provider lists none. */
  @IsArray()
  @ArrayMaxSize(MAX_MODELS)
  @IsModelName({ each: true })
  models: string[];

  /** Why there is no list, in a sentence; absent when there is one. */
  @MayBeAbsent()
  @IsString()
  error?: string;
}

/** Whether a text can be sent to a provider as the name of a model. */
export function isModelName(name: string): boolean {
  return MODEL_NAME.test(name) && name.isWellFormed();
}

/** Checks that a property is a possible model name. */
export function IsModelName({ each = false } = {}): PropertyDecorator {
  return Matches(MODEL_NAME, { each, message: 'must be 1 to 256 characters without control characters' });
}
