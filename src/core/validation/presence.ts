import { Allow, ValidateIf, getMetadataStorage } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { getMetadataSchema } from 'class-validator-jsonschema/build/decorators.js';
import type { InputClass } from './validate-input.js';

/** The properties that can be absent, and those that can be null, by the prototype of their class. */
const absent = new WeakMap<object, Set<string>>();
const nullable = new WeakMap<object, Set<string>>();

function mark(marked: WeakMap<object, Set<string>>, target: object, property: string | symbol): void {
  const names = marked.get(target) ?? new Set();
  marked.set(target, names.add(String(property)));
}

function isMarked(marked: WeakMap<object, Set<string>>, type: new () => object, property: string): boolean {
  for (let target: object | null = type.prototype as object; target !== null; target = Object.getPrototypeOf(target)) {
    if (marked.get(target)?.has(property) === true) return true;
  }
  return false;
}

/** True if the property is always there, although it can be null. */
export function isPresentOrNull(type: new () => object, property: string): boolean {
  return isMarked(nullable, type, property) && !isMarked(absent, type, property);
}

/** Makes the property optional. Unlike `IsOptional` it refuses null, which a non-null column cannot store. */
export function MayBeAbsent(): PropertyDecorator {
  return (target, property) => {
    mark(absent, target, property);
    ValidateIf((_owner, value) => value !== undefined)(target, property);
  };
}

/** Lets the property be null, also in its schema. Decorate with the rules of the value below it. */
export function MayBeNull(): PropertyDecorator {
  return (target, property) => {
    mark(nullable, target, property);
    ValidateIf((_owner, value) => value !== null)(target, property);
    // The schema that a rule gave itself; this one replaces it.
    const described = getMetadataSchema(target, String(property));
    JSONSchema((schema) => ({ anyOf: [{ ...schema, ...described }, { type: 'null' }] }))(target, property as string);
  };
}

/** Lets the property be any JSON value, including null. */
export function AnyJson(): PropertyDecorator {
  return (target, property) => {
    Allow()(target, property);
    JSONSchema({})(target, property as string);
  };
}

/**
 * A class with the properties and rules of another one, each of which can be absent, to be extended under a name of its
 * own: `class WebhookChange extends ChangeOf(WebhookData) {}`.
 */
export function ChangeOf<T extends object>(data: InputClass<T>): InputClass<Partial<T>> {
  class Change extends (data as InputClass) {}
  const rules = getMetadataStorage().getTargetValidationMetadatas(data, '', false, false);
  for (const property of new Set(rules.map(({ propertyName }) => propertyName))) {
    MayBeAbsent()(Change.prototype, property);
  }
  return Change as InputClass<Partial<T>>;
}
