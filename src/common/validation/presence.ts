import { Allow, ValidateIf } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

/** The property may be left out. Unlike `IsOptional` this refuses null, which would reach a column that holds none. */
export function MayBeAbsent(): PropertyDecorator {
  return ValidateIf((_owner, value) => value !== undefined);
}

/** The property may be null; its schema says so too. */
export function MayBeNull(): PropertyDecorator {
  return (target, property) => {
    ValidateIf((_owner, value) => value !== null)(target, property);
    JSONSchema((schema) => ({ anyOf: [schema, { type: 'null' }] }))(target, property as string);
  };
}

/** The property may hold any JSON value, null included. */
export function AnyJson(): PropertyDecorator {
  return (target, property) => {
    Allow()(target, property);
    JSONSchema({})(target, property as string);
  };
}
