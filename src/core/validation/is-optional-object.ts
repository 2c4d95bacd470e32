import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsObject, ValidateNested } from 'class-validator';
import { MayBeAbsent, MayBeNull } from './presence.js';

/** An object of the class, validated like its owner; it may be null or absent. */
export function IsOptionalObject(classOf: () => new () => object): PropertyDecorator {
  // In the order in which stacked decorators are applied: from the property up.
  return applyDecorators(Type(classOf), ValidateNested(), IsObject(), MayBeNull(), MayBeAbsent());
}
