import { describe, expect, it } from '@jest/globals';
import { dressSchema, refusalOfChange, argumentsOf, type ToolDressing } from './tool-dressing.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';

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

function toolWith(properties: UpstreamTool['inputSchema']['properties']): KnownTool {
  const inputSchema = { type: 'object' as const, properties };
  return { name: 'search', inputSchema, isPublic: false, definition: { name: 'search', inputSchema } };
}

/** Of an agent that fixes `/repo` and hides `/filter/label`, and of one around it. */
function dressing(upstream: KnownTool | undefined, fixed: Record<string, unknown> = {}): ToolDressing {
  const inner = argumentsOf({ tool: 'search', arguments: { fixed: { '/repo': 'docs' }, hidden: ['/filter/label'] } });
  const outer = argumentsOf({ tool: 'search', arguments: { fixed } });
  return {
    fixed: [...outer.fixed, ...inner.fixed],
    covered: [...outer.covered, ...inner.covered],
    upstreamDefinition: upstream?.definition,
  };
}

describe('a change of a dressed tool', () => {
  const filter = { type: 'object', properties: { label: text } };
  const before = toolWith({ repo: text, filter });

  it.each([
    ['there is none', before],
    ['the same is listed again', toolWith({ repo: text, filter })],
    ['the covered arguments are still there', toolWith({ repo: text, filter, query: text })],
    ['the tool is not known', undefined],
  ])('is accepted if %s', (_what, now) => {
    for (const known of [before, undefined]) {
      expect(refusalOfChange(dressing(known), now)).toBeUndefined();
      expect(refusalOfChange(dressing(known, { '/filter': { state: 'open' } }), now)).toBeUndefined();
    }
  });

  it.each([
    ['a fixed argument has another name', toolWith({ repository: text, filter }), 'has no argument /repo'],
    ['a hidden one is gone', toolWith({ repo: text, filter: {} }), 'has no argument /filter/label'],
    [
      'a hidden one is required',
      toolWith({ repo: text, filter: { ...filter, required: ['label'] } }),
      'requires the hidden argument /filter/label',
    ],
  ])('is refused if %s', (_what, now, message) => {
    for (const fixed of [{}, { '/filter': { state: 'open' } }]) {
      expect(refusalOfChange(dressing(before, fixed), now)).toMatchObject({
        code: 'tool_schema_invalid',
        detail: expect.stringContaining(message),
      });
    }
  });
});
