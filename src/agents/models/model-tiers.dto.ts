import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsNumber, IsObject, IsUUID, Max, Min, ValidateNested } from 'class-validator';
import { IsModelName } from './model-name.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { ItemOf } from '../../core/paging/page-of.js';

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

/** A model at a provider of the organization. */
export class TierTarget {
  @IsUUID()
  provider_id: string;

  /** The provider's name for the model. */
  @IsModelName()
  model: string;

  /** What its tokens cost. Without it, runs of the tier have no cost. */
  @MayBeAbsent()
  @IsObject()
  @ValidateNested()
  @Type(() => TierPrice)
  price?: TierPrice;
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
  @ValidateNested()
  @Type(() => ModelTiersChange)
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
