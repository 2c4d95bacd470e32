import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { plainFormOf } from './plain-form.js';
import { compilePlain } from './schema-validator.js';

const NAMES = [
  'a',
  'b',
  'a b',
  '"',
  "'",
  '\\',
  '\n',
  '\u2028',
  '${a}',
  '*/',
  '`',
  'constructor',
  'hasOwnProperty',
  '0',
  '',
];

const name = fc.constantFrom(...NAMES);
const bound = fc.double({ min: -3, max: 3, noNaN: true });
const scalar = fc.oneof(name, fc.integer({ min: -3, max: 3 }), bound, fc.boolean(), fc.constant(null));
const count = fc.nat({ max: 3 });
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null');

const { schema } = fc.letrec<{ schema: object | boolean }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.boolean(),
    fc.record({ type, title: fc.string(), default: scalar, examples: fc.array(scalar) }, { requiredKeys: ['type'] }),
    fc.record(
      {
        type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
        enum: fc.array(scalar, { minLength: 1, maxLength: 3 }),
        const: scalar,
        minLength: count,
        maxLength: count,
        minimum: bound,
        exclusiveMaximum: bound,
        minItems: count,
        maxProperties: count,
        multipleOf: fc.integer({ min: 1, max: 3 }),
        properties: fc.dictionary(name, tie('schema'), { maxKeys: 3 }),
        required: fc.uniqueArray(name, { maxLength: 2 }),
        additionalProperties: tie('schema'),
        propertyNames: tie('schema'),
        items: tie('schema'),
        anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
        oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
        allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        not: tie('schema'),
        uniqueItems: fc.constant(false),
        $comment: fc.string(),
        'x-unknown': fc.anything(),
      },
      { requiredKeys: [] },
    ),
  ),
}));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.double(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}));

describe('plainFormOf', () => {
  it('accepts the same values as the whole schema, in both drafts', () => {
    const reference = {
      strict: false,
      strictNumbers: true,
      ownProperties: true,
      multipleOfPrecision: 9,
      validateSchema: false,
      code: { optimize: false },
    } as const;
    let plain = 0;
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 1, maxLength: 5 }), (whole, values) => {
        const root = { allOf: [whole] };
        const form = plainFormOf(root);
        if (form === undefined) return;
        plain++;
        const validate = compilePlain(form.schema);
        const draft7 = new Ajv(reference).compile(root);
        const draft2020 = new Ajv2020(reference).compile(root);
        for (const value of values) {
          const fits = validate(value).length === 0;
          expect({ draft7: draft7(value), draft2020: draft2020(value) }).toEqual({ draft7: fits, draft2020: fits });
        }
      }),
      { numRuns: 150 },
    );
    expect(plain).toBeGreaterThan(100);
  }, 120_000);

  it.each([
    ['a reference', { properties: { a: { $ref: '#' } } }],
    ['a regular expression', { properties: { a: { pattern: 'x' } } }],
    ['regular expressions for names', { patternProperties: { x: true } }],
    ['a comparison of items', { uniqueItems: true }],
    ['a condition', { if: true }],
    ['a list of items', { items: [true] }],
    ['an enumeration of objects', { enum: [{}] }],
    ['a constant list', { const: [] }],
    ['an unknown type', { type: 'objekt' }],
    ['a type twice', { type: ['string', 'string'] }],
    ['a negative count', { minLength: -1 }],
    ['a bound that is not a number', { minimum: '1' }],
    ['a division by zero', { multipleOf: 0 }],
    ['no alternative', { anyOf: [] }],
    ['a subschema that is not a schema', { properties: { a: null } }],
    ['properties in a list', { properties: [] }],
    ['a name that is not a string', { required: [1] }],
    ['a format that is not a string', { format: 1 }],
    ['a member named __proto__', { properties: JSON.parse('{"__proto__":true}') as object }],
    ['many properties', { properties: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`p${i}`, true])) }],
    ['long names', { required: ['x'.repeat(100_000)] }],
    ['many alternatives', { anyOf: Array.from({ length: 100 }, () => true) }],
  ])('is undefined for %s', (_, schema) => {
    expect(plainFormOf({ allOf: [schema] })).toBeUndefined();
  });

  it('is undefined for a deep schema, without traversing it', () => {
    let schema: object = {};
    for (let level = 0; level < 100_000; level++) schema = { not: schema };
    expect(plainFormOf(schema)).toBeUndefined();
  });

  it('omits keywords without effect, and keeps `nullable`', () => {
    const schema = {
      $schema: 'urn:x',
      $id: 'urn:y',
      $defs: { unused: { pattern: '(' } },
      title: 5,
      type: 'string',
      nullable: true,
      default: { $ref: '#' },
      format: 'unheard-of',
    };
    expect(plainFormOf(schema)?.schema).toEqual({ type: 'string', nullable: true, default: null });
    expect(plainFormOf({ nullable: true })?.schema).toEqual({});
  });
});
