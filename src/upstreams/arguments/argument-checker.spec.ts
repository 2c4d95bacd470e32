import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ArgumentChecker } from './argument-checker.js';
import { type ArgumentVerdict, refusalOf } from './argument-verdict.js';

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';
const FIT = { outcome: 'fit' };

/** Not plain, so that schemas with it are checked on a thread. */
const ISOLATED = { marker: { type: 'string', pattern: '^m' } };

/** An object schema with a property `a` that is checked on a thread. */
function isolated(a: object, more: object = {}): object {
  return { type: 'object', properties: { ...ISOLATED, a }, ...more };
}

function nested(depth: number): object {
  let schema: object = { type: 'string' };
  for (let level = 0; level < depth; level++) schema = { type: 'object', properties: { a: schema } };
  return schema;
}

describe('ArgumentChecker', () => {
  let checker: ArgumentChecker;

  beforeAll(() => {
    checker = new ArgumentChecker();
  });

  afterAll(async () => {
    await checker.onApplicationShutdown();
  });

  const check = (schema: object, args: unknown): ArgumentVerdict | Promise<ArgumentVerdict> =>
    checker.validateArguments(schema, args, 'owner');

  /** Returns the first fault as `path: rule`. */
  async function faultOf(schema: object, args: unknown): Promise<string> {
    const verdict = await check(schema, args);
    if (verdict.outcome !== 'unfit') return verdict.outcome;
    return `${verdict.faults[0]?.path}: ${verdict.faults[0]?.code}`;
  }

  async function reasonOf(schema: object, args: unknown = {}): Promise<string> {
    const verdict = await check(schema, args);
    return verdict.outcome === 'unusable' ? verdict.reason : verdict.outcome;
  }

  describe('with a plain schema', () => {
    const sum = {
      $schema: DRAFT_07,
      type: 'object',
      properties: { a: { type: 'number', default: 1 }, list: { type: 'array', items: { type: 'integer' } } },
      required: ['a', 'b'],
      additionalProperties: false,
    };

    it('returns the same verdict after more schemas than stay compiled', () => {
      const first = { type: 'string' };
      expect([check(first, 'x'), check(first, 1)]).toMatchObject([FIT, { outcome: 'unfit' }]);
      for (let i = 0; i <= 2_000; i++) expect(check({ type: 'number', minimum: i }, i)).toEqual(FIT);
      expect([check(first, 'x'), check(first, 1)]).toMatchObject([FIT, { outcome: 'unfit' }]);
    });

    it('returns every fault with its path and rule synchronously', () => {
      expect(check({ ...sum, required: ['a'] }, { a: 1 })).toEqual(FIT);
      expect(check(sum, { a: 'x', list: [1, 2.5], 'o"dd': 1 })).toEqual({
        outcome: 'unfit',
        faults: [
          { path: 'b', code: 'required', message: 'is required' },
          { path: 'o"dd', code: 'additional_properties', message: 'is not accepted' },
          { path: 'a', code: 'type', message: 'must be number' },
          { path: 'list[1]', code: 'type', message: 'must be integer' },
        ],
      });
    });

    it('returns at most 20 faults, without values of the arguments', () => {
      const required = Array.from({ length: 30 }, (_, index) => `field${index}`);
      const verdict = check({ type: 'object', required, properties: { a: { enum: ['x'] } } }, { a: 'secret value' });
      expect(verdict).toMatchObject({ outcome: 'unfit', faults: { length: 20 } });
      expect(JSON.stringify(verdict)).not.toContain('secret');
    });

    it('does not modify the arguments', () => {
      const args = Object.freeze({ b: '2' });
      expect(check({ ...sum, required: ['b'], properties: { ...sum.properties, b: {} } }, args)).toEqual(FIT);
      expect(args).toEqual({ b: '2' });
    });

    it('asserts only the known formats', () => {
      const withFormat = (format: string): object => ({
        type: 'object',
        properties: { a: { type: 'string', format } },
      });
      expect(check(withFormat('uuid'), { a: 'x' })).toMatchObject({ faults: [{ path: 'a', code: 'format' }] });
      for (const format of ['regex', 'unheard-of', 'constructor', '__proto__', 'toString']) {
        expect(check(withFormat(format), { a: 'x' })).toEqual(FIT);
      }
    });

    it('ignores inherited members', () => {
      const schema = {
        properties: { constructor: { type: 'string' }, toString: { type: 'number' } },
        required: ['valueOf'],
      };
      expect(check(schema, {})).toMatchObject({ faults: [{ path: 'valueOf', code: 'required' }] });
      expect(check(schema, { valueOf: 1, constructor: 1 })).toMatchObject({ faults: [{ path: 'constructor' }] });
    });

    it('rejects numbers that JSON does not have', () => {
      const schema = { properties: { a: { type: 'number' }, price: { multipleOf: 0.01 } } };
      expect(check(schema, { a: NaN })).toMatchObject({ outcome: 'unfit' });
      expect(check(schema, { a: Infinity })).toMatchObject({ outcome: 'unfit' });
      expect(check(schema, { a: -0, price: 19.99 })).toEqual(FIT);
    });

    it('checks large or deep arguments on a thread', async () => {
      const schema = { type: 'object', properties: { a: { type: 'array', items: { type: 'object' } } } };
      const many = Array.from({ length: 100_000 }, () => ({}));
      const verdict = check(schema, { a: [...many, 1] });
      expect(verdict).toBeInstanceOf(Promise);
      expect(await verdict).toMatchObject({ faults: [{ path: 'a[100000]', code: 'type' }] });

      const deep = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)) as unknown;
      expect(await check(schema, { a: [], deep })).toMatchObject({ faults: [{ code: 'depth' }] });
    });
  });

  describe('with a schema that cannot be used', () => {
    it('refuses an oversized schema without reading it', async () => {
      const huge = { enum: [['x'.repeat(5 * 1024 * 1024)]] };
      const wide = { $defs: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`p${i}`, true])), $ref: '#' };
      expect(check(huge, {})).not.toBeInstanceOf(Promise);
      expect(await reasonOf(huge)).toContain('characters');
      expect(await reasonOf(wide)).toContain('nodes');
      expect(await reasonOf(nested(10_000))).toContain('deep');
    });

    it('accepts large annotations', () => {
      expect(check({ type: 'object', description: 'x'.repeat(5 * 1024 * 1024) }, {})).toEqual(FIT);
    });

    it.each([
      ['an invalid JSON Schema', { type: 'objekt' }, 'not JSON Schema'],
      ['an invalid regular expression', isolated({ pattern: '(' }), 'Invalid regular expression'],
      ['a circular reference', { $ref: '#' }, 'refers to itself'],
      [
        'a circle of two references',
        { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
        'refers to itself',
      ],
      ['an external reference', { $ref: 'http://127.0.0.1:9/schema.json' }, 'not part of it'],
      ['a long reason', { $ref: '#', type: 'x'.repeat(100_000) }, 'not JSON Schema'],
    ])('returns the reason: %s', async (_, schema, reason) => {
      const found = await reasonOf(schema);
      expect(found).toContain(reason);
      expect(found.length).toBeLessThan(400);
    });
  });

  describe('with schemas of several drafts', () => {
    const tuple = isolated({ items: [{ type: 'string' }] });
    const prefix = isolated({ prefixItems: [{ type: 'string' }], items: false });

    it('reads item lists according to the draft', async () => {
      expect(await faultOf({ $schema: DRAFT_07, ...tuple }, { a: [1] })).toBe('a[0]: type');
      expect(await reasonOf({ $schema: DRAFT_2020, ...tuple })).toContain('not JSON Schema');
      expect(await faultOf({ $schema: DRAFT_2020, ...prefix }, { a: [1] })).toBe('a[0]: type');
      expect(await faultOf({ $schema: DRAFT_2020, ...prefix }, { a: ['x', 1] })).toBe('a: items');
      expect(await faultOf({ $schema: DRAFT_07, ...prefix }, { a: ['x', 1] })).toBe('a[0]: false_schema');
    });

    it('assumes 2020-12 without a draft, unless the schema is valid only as draft-07', async () => {
      expect(await faultOf(prefix, { a: [1] })).toBe('a[0]: type');
      expect(await faultOf(tuple, { a: [1] })).toBe('a[0]: type');
      expect(await faultOf({ $schema: 'urn:my-own', ...prefix }, { a: [1] })).toBe('a[0]: type');
    });

    it('tolerates common deviations from the standard', async () => {
      expect(await faultOf(isolated({ pattern: '^[\\w-.]\\_$' }), { a: '!' })).toBe('a: pattern');
      expect(await faultOf(isolated({ id: 'x', type: 'string' }, { id: 'y' }), { a: 1 })).toBe('a: type');
      expect(await faultOf(isolated({ type: 'string' }, { $async: true }), { a: 1 })).toBe('a: type');
      const nullable = isolated({ $ref: '#/$defs/b', nullable: true }, { $defs: { b: { type: 'string' } } });
      expect(await faultOf(nullable, { a: 1 })).toBe('a: type');
    });

    it('follows references within the schema at any depth of the arguments', async () => {
      const list = { type: 'object', properties: { next: { $ref: '#' }, value: { type: 'number' } } };
      expect(await faultOf(list, { next: { next: { value: 'x' } } })).toBe('next.next.value: type');
      const named = { ...list, $id: 'https://schemas.example/list' };
      expect(await faultOf(named, { next: { value: 'x' } })).toBe('next.value: type');
    });

    it('supports unevaluated properties', async () => {
      const schema = { properties: { a: true }, unevaluatedProperties: false };
      expect(await faultOf(schema, { a: 1, b: 2 })).toBe('b: unevaluated_properties');
      // Ajv's optimized code for this schema does not run.
      const branches = [{ oneOf: [{ items: false }], not: true }, { type: 'null' }];
      expect(await faultOf({ allOf: [{ anyOf: branches }], patternProperties: {} }, null)).toBe('fit');
    });

    it('does not resolve references to other schemas', async () => {
      const lender = { $defs: { x: { $id: 'https://schemas.example/x', type: 'number' } }, pattern: 'x' };
      expect(await faultOf(lender, {})).toBe('fit');
      expect(await reasonOf({ $ref: 'https://schemas.example/x' })).toContain('not part of it');
      expect(await faultOf({ ...lender, $ref: 'https://schemas.example/x' }, {})).toBe(': type');
    });
  });

  describe('with defaults', () => {
    const size = { type: 'object', required: ['unit', 'value'], properties: { unit: { default: 'px' }, value: {} } };
    const byReference = { $defs: { size, unit: { default: 'px' } }, properties: { s: { $ref: '#/$defs/size' } } };
    const shapes = [
      { required: ['kind', 'unit'], properties: { kind: { const: 'a' }, unit: { default: 'px' } } },
      { required: ['kind'], properties: { kind: { const: 'b' } } },
    ];

    it.each<[string, object, object]>([
      ['of a property', size, { value: 1 }],
      ['in a list', { properties: { list: { items: size } } }, { list: [{ value: 1 }] }],
      ['in a nullable type', { required: ['a'], properties: { a: { anyOf: [{ default: 1 }, { type: 'null' }] } } }, {}],
      ['of a property that another part of the schema requires', { allOf: [size], required: ['unit'] }, { value: 1 }],
      ['of an alternative', { oneOf: shapes }, { kind: 'a' }],
      [
        'of alternatives that overlap',
        { oneOf: [{ required: ['a'] }, { type: 'object' }], properties: { a: { default: 1 } } },
        {},
      ],
      ['behind a reference', byReference, { s: { value: 1 } }],
      [
        'of what a reference describes',
        { ...byReference, required: ['u'], properties: { u: { $ref: '#/$defs/unit' } } },
        {},
      ],
      [
        'behind an anchor',
        { $defs: { s: { $anchor: 'size', ...size } }, properties: { s: { $ref: '#size' } } },
        { s: { value: 1 } },
      ],
      [
        'behind a dynamic reference',
        {
          $defs: { u: { $dynamicAnchor: 'unit', default: 'px' } },
          required: ['u'],
          properties: { u: { $dynamicRef: '#unit' } },
        },
        {},
      ],
      [
        'behind the address of a schema',
        {
          $defs: { s: { $id: 'https://schemas.example/size', ...size } },
          properties: { s: { $ref: 'https://schemas.example/size' } },
        },
        { s: { value: 1 } },
      ],
      [
        'behind a pointer into another resource',
        { properties: { s: { $id: 'https://schemas.example/s', allOf: [{ $ref: '#/$defs/size' }], $defs: { size } } } },
        { s: { value: 1 } },
      ],
      ['of a dependency', { dependentRequired: { a: ['b'] }, properties: { b: { default: 1 } } }, { a: 1 }],
    ])('does not require a property that the server fills in: %s', async (_title, schema, args) => {
      for (const more of [{}, { patternProperties: { '^m': {} } }]) {
        expect(await check({ ...schema, ...more }, args)).toEqual(FIT);
        expect(args).not.toHaveProperty('unit');
      }
    });

    it('still requires what has none, and finds every other fault', async () => {
      expect(await faultOf(size, { unit: 'em' })).toBe('value: required');
      expect(await faultOf(byReference, { s: {} })).toBe('s.value: required');
      expect(await faultOf({ oneOf: shapes }, { unit: 'em' })).toBe('kind: required');
      const typed = { required: ['a'], properties: { a: { type: 'string', default: 'x' } } };
      expect(await faultOf(typed, { a: 1 })).toBe('a: type');
      // Accepting less inside `not` would accept less of the arguments.
      expect(await check({ ...typed, not: { required: ['b'], properties: { b: { default: 1 } } } }, {})).toEqual(FIT);
      const referring = { $defs: { size }, properties: { unit: { default: 'px' } } };
      expect(await check({ ...referring, not: { $ref: '#/$defs/size' } }, { value: 1 })).toEqual(FIT);
      const branch = JSON.parse('{ "if": { "$ref": "#/$defs/size" }, "then": { "required": ["more"] } }') as object;
      expect(await check({ ...referring, ...branch }, { value: 1 })).toEqual(FIT);
      const evaluating = { if: { $ref: '#/$defs/size' }, unevaluatedProperties: false };
      expect(await check({ ...referring, ...evaluating }, { unit: 'em', value: 1 })).toEqual(FIT);
      const data = { enum: [{ required: ['a'], properties: { a: { default: 1 } } }] };
      expect(await check({ properties: { data } }, { data: data.enum[0] })).toEqual(FIT);
    });
  });

  it('returns every fault of a schema that is checked on a thread', async () => {
    const schema = isolated({ type: 'integer' }, { required: ['a', 'b', 'marker'] });
    expect(await check(schema, { a: 'x', marker: 'y' })).toMatchObject({
      faults: [
        { path: 'b', message: 'is required' },
        { path: 'marker', message: 'must match pattern "^m"' },
        { path: 'a', message: 'must be integer' },
      ],
    });
  });

  it('never executes code in names, in the process or on a thread', async () => {
    const names = [
      '"];globalThis.hacked=1;//',
      "'+(globalThis.hacked=1)+'",
      '`${globalThis.hacked=1}`',
      '\n*/',
      '\u2028',
    ];
    const properties = Object.fromEntries(names.map((name) => [name, { enum: [name], type: 'string' }]));
    const args = Object.fromEntries(names.map((name) => [name, name]));
    for (const more of [{}, ISOLATED]) {
      const schema = { type: 'object', required: names, properties: { ...properties, ...more } };
      expect(await check(schema, args)).toEqual(FIT);
      expect(await check(schema, {})).toMatchObject({ outcome: 'unfit' });
    }
    expect(globalThis).not.toHaveProperty('hacked');
  });

  it('handles members named __proto__', async () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}') as object;
    expect(await faultOf(schema, {})).toBe('__proto__: required');
    expect(await faultOf(schema, JSON.parse('{"__proto__":{"polluted":1}}'))).toBe('fit');
    expect(check(JSON.parse('{"__proto__":{"type":"string"}}') as object, {})).toEqual(FIT);
    expect({}).not.toHaveProperty('polluted');
  });

  it('converts verdicts to domain errors', async () => {
    expect(refusalOf(await check({}, {}))).toBeUndefined();
    expect(refusalOf(await check({ required: ['a', 'b'] }, {}))).toMatchObject({
      code: 'invalid_arguments',
      detail: "The arguments do not match the tool's input schema: arguments.a is required; arguments.b is required.",
      errors: [{ path: 'a' }, { path: 'b' }],
    });
    expect(refusalOf(await check({ $ref: '#' }, {}))).toMatchObject({ code: 'tool_schema_invalid' });
    const stopped = new ArgumentChecker();
    await stopped.onApplicationShutdown();
    expect(refusalOf(await stopped.validateArguments(isolated({}), {}, 'owner'))).toMatchObject({
      code: 'connection_unavailable',
    });
  });
});
