import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsArray, IsNumber, IsString, Max, Min, ValidateNested } from 'class-validator';
import { MAX_LIMIT_VALUE } from './limits.js';
import { ItemOf, type ItemOutput } from './paging/page-of.js';
import { MayBeAbsent, MayBeNull } from './validation/presence.js';
import type { InputClass } from './validation/validate-input.js';

const MIN_USD = 0.000_001;

/** An absent member keeps its value, and null clears it. */
export class SpendLimitInput {
  /** US dollars for each UTC day. */
  @MayBeAbsent()
  @MayBeNull()
  @IsDollars()
  usd_per_day?: number | null;

  /** US dollars for each UTC month. */
  @MayBeAbsent()
  @MayBeNull()
  @IsDollars()
  usd_per_month?: number | null;
}

/** The spending limits that are set. */
export class SpendLimitItem {
  @MayBeAbsent()
  @IsDollars()
  usd_per_day?: number;

  @MayBeAbsent()
  @IsDollars()
  usd_per_month?: number;
}

/** What is accepted, but will not work as it is. */
export class WarningItem {
  /** Where: a tier or one of its fallbacks. */
  @IsString()
  path: string;

  @IsString()
  code: string;

  @IsString()
  message: string;
}

/** The models without a price, after a spending limit was set: they are not called then. Absent if there are none. */
export function MayHaveWarnings(): PropertyDecorator {
  // In the order in which stacked decorators are applied: from the property up.
  return applyDecorators(
    Type(() => WarningItem),
    ValidateNested({ each: true }),
    IsArray(),
    MayBeAbsent(),
  );
}

/** The answer to a change of spending limits, or of the models that runs under them call. */
export function WarnedItemOf<T extends object>(
  type: InputClass<T>,
): InputClass<ItemOutput<T> & { warnings?: WarningItem[] }> {
  class WarnedItem extends ItemOf(type) {
    /** The models without a price, which no run under a spending limit calls; absent if there are none. */
    @MayHaveWarnings()
    warnings?: WarningItem[];
  }
  return WarnedItem;
}

/** An amount of which a part can be spent: a limit of nothing is not a limit. */
function IsDollars(): PropertyDecorator {
  return applyDecorators(IsNumber({ allowNaN: false, allowInfinity: false }), Min(MIN_USD), Max(MAX_LIMIT_VALUE));
}
