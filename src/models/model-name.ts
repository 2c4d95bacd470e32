import { Matches } from 'class-validator';

/** Checks that a property is a possible model name. */
export function IsModelName(): PropertyDecorator {
  return Matches(/^\P{Cc}{1,256}$/u, { message: 'must be 1 to 256 characters without control characters' });
}
