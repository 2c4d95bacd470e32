import { applyDecorators } from '@nestjs/common';
import { IsInt, Max, Min } from 'class-validator';

/** A whole number from 1: a limit of nothing is not a limit. */
export function IsLimit(max: number): PropertyDecorator {
  return applyDecorators(IsInt(), Min(1), Max(max));
}
