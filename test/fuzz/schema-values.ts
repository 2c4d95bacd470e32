import * as fc from 'fast-check';
import { oddJson, oddNumber, oddString, stringsWithin } from './values.js';

/** The part of JSON Schema that the service's OpenAPI document uses. */
export interface Schema {
  type?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

/**
 * Says what a property is where its schema does not, as with the id of something that exists. `undefined` leaves it to
 * the schema, `null` leaves the property out.
 */
export type Meaning = (path: readonly string[], isSound: boolean) => fc.Arbitrary<unknown> | null | undefined;

const UUID = '01234567-89ab-7def-8123-456789abcdef';
/** How often a value of an unsound body is sound itself, against once that something odd takes its place. */
const LEFT_ALONE = 12;
const MOST_ITEMS = 4;

/** Values for a schema: about two in three fit it, the others have something odd somewhere. */
export function valueOf(schema: Schema, meaning: Meaning): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 2, arbitrary: new Values(meaning, true).of(schema, []) },
    { weight: 1, arbitrary: new Values(meaning, false).of(schema, []) },
  );
}

class Values {
  readonly #meaning: Meaning;
  readonly #isSound: boolean;

  constructor(meaning: Meaning, isSound: boolean) {
    this.#meaning = meaning;
    this.#isSound = isSound;
  }

  /** `path` is that of the property. */
  of(schema: Schema, path: readonly string[]): fc.Arbitrary<unknown> {
    const fitting = this.#meaning(path, this.#isSound) ?? this.#fitting(schema, path);
    return this.#isSound ? fitting : mostly(fitting, oddJson);
  }

  #fitting(schema: Schema, path: readonly string[]): fc.Arbitrary<unknown> {
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => this.#fitting(one, path)));
    switch (schema.type) {
      case 'object':
        return this.#object(schema, path);
      case 'array':
        return fc.array(this.of(schema.items ?? {}, [...path, '*']), {
          minLength: schema.minItems ?? 0,
          maxLength: Math.min(schema.maxItems ?? MOST_ITEMS, MOST_ITEMS),
        });
      case 'string':
        return stringOf(schema);
      case 'integer':
      case 'number':
        return this.#isSound ? numberOf(schema) : fc.oneof(numberOf(schema), oddNumber);
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      default:
        return oddJson;
    }
  }

  #object(
    { properties = {}, required = [], additionalProperties }: Schema,
    path: readonly string[],
  ): fc.Arbitrary<unknown> {
    const kept = Object.entries(properties).filter(([name]) => this.#meaning([...path, name], this.#isSound) !== null);
    const known = Object.fromEntries(kept.map(([name, property]) => [name, this.of(property, [...path, name])]));
    const record = fc.record(known, { requiredKeys: required.filter((name) => name in known) });
    const further =
      typeof additionalProperties === 'object'
        ? fc.dictionary(oddString, this.of(additionalProperties, [...path, '*']), { maxKeys: MOST_ITEMS })
        : fc.constant({});
    const whole = fc.tuple(record, further).map(([one, two]) => ({ ...one, ...two }));
    if (this.#isSound) return whole;
    const stray = fc.dictionary(oddString, oddJson, { maxKeys: 1 });
    const spoiled = fc.tuple(whole, stray, fc.constantFrom(undefined, ...required)).map(([one, two, lost]) => {
      const members = Object.entries({ ...one, ...two }).filter(([name]) => name !== lost);
      return Object.fromEntries(members);
    });
    return mostly(whole, spoiled);
  }
}

function mostly(usual: fc.Arbitrary<unknown>, unusual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: LEFT_ALONE, arbitrary: usual }, { weight: 1, arbitrary: unusual });
}

function stringOf({ pattern, format, minLength = 0, maxLength = Infinity }: Schema): fc.Arbitrary<unknown> {
  if (format === 'uuid') return fc.constant(UUID);
  const expression = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const candidates = stringsWithin((text) => {
    const { length } = [...text];
    return length >= minLength && length <= maxLength && expression?.test(text) !== false;
  });
  return candidates.length === 0 ? oddString : fc.constantFrom(...candidates);
}

function numberOf({ type, minimum = -(2 ** 31), maximum = 2 ** 31 }: Schema): fc.Arbitrary<unknown> {
  const within =
    type === 'integer'
      ? fc.integer({ min: minimum, max: maximum })
      : fc.double({ min: minimum, max: maximum, noNaN: true });
  return fc.oneof(fc.constantFrom(minimum, maximum), within);
}
