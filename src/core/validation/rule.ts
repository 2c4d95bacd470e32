import { applyDecorators } from '@nestjs/common';
import { ValidateBy } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

/** What `@JSONSchema` takes as the description of a property. */
export type PropertySchema = Exclude<Parameters<typeof JSONSchema>[0], (...args: never[]) => unknown>;

/**
 * A decorator for properties with a rule that class-validator does not have.
 * @param name the `code` of the fault
 * @param schema describes the values that pass
 * @param message what a value that does not pass must be, or what is wrong with it
 */
export function rule(
  name: string,
  schema: PropertySchema,
  validate: (value: unknown) => boolean,
  message: string | ((value: unknown) => string),
): PropertyDecorator {
  const defaultMessage =
    typeof message === 'string' ? () => message : (args?: { value: unknown }) => message(args?.value);
  return applyDecorators(JSONSchema(schema), ValidateBy({ name, validator: { validate, defaultMessage } }));
}
