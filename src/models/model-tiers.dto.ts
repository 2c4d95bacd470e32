import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsObject, IsUUID, ValidateNested } from 'class-validator';
import { IsModelName } from './model-name.js';
import { MayBeAbsent, MayBeNull } from '../common/validation/presence.js';
import { ItemOf } from '../common/paging/page-of.js';

/** A model at a provider of the organization. */
export class TierTarget {
  @IsUUID()
  provider_id: string;

  /** The provider's name for the model. */
  @IsModelName()
  model: string;
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

function IsTargetOrNull(): PropertyDecorator {
  return applyDecorators(
    MayBeNull(),
    IsObject(),
    ValidateNested(),
    Type(() => TierTarget),
  );
}
