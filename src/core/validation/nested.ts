import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsArray, IsObject, ValidateNested } from 'class-validator';
import { MayBeAbsent, MayBeNull } from './presence.js';

// Each composes decorators in the order in which stacked ones are applied: from the property up.

/** An object of the class, validated like its owner. */
export function Nested(classOf: () => new () => object): PropertyDecorator {
  return applyDecorators(Type(classOf), ValidateNested());
}

/** A list of objects of the class. */
export function NestedList(classOf: () => new () => object): PropertyDecorator {
  return applyDecorators(Type(classOf), ValidateNested({ each: true }), IsArray());
}

/** An object of the class that may be null or absent. */
export function IsOptionalObject(classOf: () => new () => object): PropertyDecorator {
  return applyDecorators(Nested(classOf), IsObject(), MayBeNull(), MayBeAbsent());
}
