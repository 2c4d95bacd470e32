import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsInt, IsNumber, IsObject, IsUUID, Max, Min, ValidateNested } from 'class-validator';
import { IsModelName } from './ai-provider.dto.js';
import { Nested } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { ItemOf } from '../../core/paging/page-of.js';
import { WarnedItemOf } from '../../core/spend-limit.dto.js';

/** A dollar per token: far above every model, far below what the sums of the statistics can hold. */
const MAX_PRICE_USD = 1_000_000;

/** US dollars per million tokens. */
class TierPrice {
  @IsPrice()
  input: number;

  @IsPrice()
  output: number;

  /** Of input that the provider reads from its cache; by default as `input`. */
  @MayBeAbsent()
  @IsPrice()
  cached_input?: number;
}

const MAX_OUTPUT_TOKENS = 10_000_000;
const MAX_FIRST_CHUNK_TIMEOUT_S = 600;
const MAX_FALLBACKS = 4;

/** A model at a provider of the organization. */
export class TierModel {
  @IsUUID()
  provider_id: string;

  /** The provider's name for the model. */
  @IsModelName()
  model: string;

  /** What its tokens cost. Without it, its runs have no cost, and no run with a spending limit calls it. */
  @MayBeAbsent()
  @IsObject()
  @Nested(() => TierPrice)
  price?: TierPrice;

  /** The most tokens that one answer can have; by default, the limit of the model itself. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_OUTPUT_TOKENS)
  max_output_tokens?: number;

  /** How long the model can take to begin its answer, in seconds; by default 60. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_FIRST_CHUNK_TIMEOUT_S)
  first_chunk_timeout_s?: number;
}

/** The model that serves a tier, and those that are called in turn where it fails. */
export class TierTarget extends TierModel {
  @MayBeAbsent()
  @IsArray()
  @ArrayMaxSize(MAX_FALLBACKS)
  @ValidateNested({ each: true })
  @Type(() => TierModel)
  fallbacks?: TierModel[];
}

/** Absent tiers keep their value; null clears a tier. */
export class ModelTiersChange {
  @MayBeAbsent()
  @IsTargetOrNull()
  fast?: TierTarget | null;

  @MayBeAbsent()
  @IsTargetOrNull()
  smart?: TierTarget | null;

  @MayBeAbsent()
  @IsTargetOrNull()
  thinking?: TierTarget | null;
}

export class ModelTiersSetInput {
  @IsObject()
  @Nested(() => ModelTiersChange)
  data: ModelTiersChange;
}

export class ModelTiersGetInput {}

/** All tiers; null means not set. */
export class ModelTiersItem {
  @IsTargetOrNull()
  fast: TierTarget | null;

  @IsTargetOrNull()
  smart: TierTarget | null;

  @IsTargetOrNull()
  thinking: TierTarget | null;
}

export class ModelTiersAnswer extends ItemOf(ModelTiersItem) {}

export class ModelTiersChanged extends WarnedItemOf(ModelTiersItem) {}

function IsPrice(): PropertyDecorator {
  return applyDecorators(IsNumber({ allowNaN: false, allowInfinity: false }), Min(0), Max(MAX_PRICE_USD));
}

function IsTargetOrNull(): PropertyDecorator {
  return applyDecorators(
    MayBeNull(),
    IsObject(),
    ValidateNested(),
    Type(() => TierTarget),
  );
}
