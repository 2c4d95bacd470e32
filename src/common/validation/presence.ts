import { Allow, ValidateIf } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

/** Makes the property optional. Unlike `IsOptional` it refuses null, which a non-null column cannot store. */
export function MayBeAbsent(): PropertyDecorator {
  return ValidateIf((_owner, value) => value !== undefined);
}

/** Lets the property be null, also in its schema. */
export function MayBeNull(): PropertyDecorator {
  return (target, property) => {
    ValidateIf((_owner, value) => value !== null)(target, property);
    JSONSchema((schema) => ({ anyOf: [schema, { type: 'null' }] }))(target, property as string);
  };
}

/** Lets the property be any JSON value, including null. */
export function AnyJson(): PropertyDecorator {
  return (target, property) => {
    Allow()(target, property);
    JSONSchema({})(target, property as string);
  };
}
