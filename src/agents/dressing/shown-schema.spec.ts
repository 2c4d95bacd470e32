import { describe, expect, it } from '@jest/globals';
import { dressSchema } from './shown-schema.js';
import { argumentsOf } from './tool-dressing.js';

const text = { type: 'string' };
const SCHEMA = {
  type: 'object',
  properties: {
    repo: text,
    limit: { type: 'integer', default: 10 },
    filter: { type: 'object', properties: { state: text, label: text }, required: ['state', 'label'] },
    range: { $ref: '#/$defs/Range', description: 'When' },
    'a/b': text,
  },
  required: ['repo', 'limit'],
  $defs: { Range: { type: 'object', properties: { from: text, to: text }, required: ['from'] } },
};

function dress(args: { fixed?: Record<string, unknown>; hidden?: string[] }, schema: object = SCHEMA) {
  return dressSchema(schema, argumentsOf({ tool: 'x', arguments: args }));
}

/** The schema with other properties. */
function shown(properties: object, required: string[]): object {
  return { ...SCHEMA, properties, required };
}

describe('the shown schema', () => {
  const { repo, limit, filter, range, ...rest } = SCHEMA.properties;
  it.each([
    ['a fixed argument', { fixed: { '/repo': 'a' } }, shown({ limit, filter, range, ...rest }, ['limit'])],
    ['a hidden one with a default', { hidden: ['/limit'] }, shown({ repo, filter, range, ...rest }, ['repo'])],
    ['one that is fixed and hidden', { fixed: { '/repo': 1 }, hidden: ['/repo'] }, expect.objectContaining({})],
    ['a name with a slash', { hidden: ['/a~1b'] }, shown({ repo, limit, filter, range }, ['repo', 'limit'])],
    [
      'one of an object, which calls then have',
      { fixed: { '/filter/state': 'open' } },
      shown({ repo, limit, filter: { ...filter, properties: { label: text }, required: ['label'] }, range, ...rest }, [
        'repo',
        'limit',
        'filter',
      ]),
    ],
    [
      'an object that has nothing left to set',
      { fixed: { '/filter/state': 'open', '/filter/label': 'bug' } },
      shown({ repo, limit, range, ...rest }, ['repo', 'limit']),
    ],
    [
      'one behind a reference',
      { hidden: ['/range/to'] },
      shown(
        {
          repo,
          limit,
          filter,
          range: { type: 'object', properties: { from: text }, required: ['from'], description: 'When' },
          ...rest,
        },
        ['repo', 'limit'],
      ),
    ],
  ])('lacks %s', (_what, args, expected) => {
    expect(dress(args).shown).toEqual(expected);
  });

  it('says nothing of a covered argument in other keywords, and keeps what they say of others', () => {
    const anyOf = [{ required: ['repo'] }, { required: ['a/b'] }];
    const allOf = [{ required: ['filter'] }];
    const { shown } = dress({ fixed: { '/repo': 'a' } }, { ...SCHEMA, anyOf, allOf, examples: [{ repo: 'b' }] });
    expect(shown).not.toHaveProperty('anyOf');
    expect(shown).not.toHaveProperty('examples');
    expect(shown).toMatchObject({ allOf });
  });

  it('leaves the schema of the upstream as it is', () => {
    const before = JSON.stringify(SCHEMA);
    dress({ fixed: { '/filter/state': 'open', '/repo': 'a' }, hidden: ['/range/to'] });
    expect(JSON.stringify(SCHEMA)).toBe(before);
  });

  it.each<[string, { fixed?: Record<string, unknown>; hidden?: string[] }, object, string]>([
    ['an argument that is not there', { fixed: { '/repos': 1 } }, SCHEMA, 'has no argument /repos'],
    ['one that every object inherits', { hidden: ['/constructor'] }, SCHEMA, 'has no argument /constructor'],
    ['an item of a list', { fixed: { '/list/0': 1 } }, { properties: { list: { type: 'array' } } }, '/list/0'],
    ['a required one without a value', { hidden: ['/repo'] }, SCHEMA, 'requires the hidden argument /repo'],
    [
      'a required one in an object',
      { hidden: ['/filter/state'] },
      SCHEMA,
      'requires the hidden argument /filter/state',
    ],
    [
      'a reference that leads nowhere',
      { hidden: ['/a/b'] },
      { properties: { a: { $ref: '#/x' } } },
      'at /a that leads',
    ],
    ['a reference elsewhere', { hidden: ['/a/b'] }, { properties: { a: { $ref: 'https://x/y' } } }, 'at /a that leads'],
    ['a circle', { hidden: ['/a/b'] }, { properties: { a: { $ref: '#/properties/a' } } }, 'at /a that leads'],
    ['a schema without properties', { hidden: ['/a'] }, { type: 'object', properties: [] }, 'has no argument /a'],
  ])('is refused for %s', (_what, args, schema, message) => {
    expect(() => dress(args, schema)).toThrow(message);
  });
});
