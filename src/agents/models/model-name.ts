import { Matches } from 'class-validator';

/** Checks that a property is a possible model name. */
export function IsModelName(): PropertyDecorator {
  return Matches(/^[^\x00-\x1f\x7f-\x9f]{1,256}$/u, {
    message: 'must be 1 to 256 characters without control characters',
  });
}
