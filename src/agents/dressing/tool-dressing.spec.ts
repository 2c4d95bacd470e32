import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  fillArguments,
  fillRequestText,
  refusalOfArguments,
  argumentsOf,
  type ToolDressing,
  dressSchema,
  refusalOfChange,
} from './tool-dressing.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';

function dressingWith(fixed: Record<string, unknown>, hidden: string[] = []): ToolDressing {
  return { ...argumentsOf({ tool: 'x', arguments: { fixed, hidden } }), upstreamDefinition: undefined };
}

const request = (args: string): string => `{"id":1,"params":{"name":"x","arguments":${args}},"method":"tools/call"}`;

describe('fixed arguments', () => {
  it.each([
    ['in no arguments', { '/a': 1 }, '{}', '{"a":1}'],
    ['next to others', { '/a': { b: null } }, '{ "b" : 2 }', '{"a":{"b":null},"b" : 2 }'],
    ['in an object that is absent', { '/a/b/c': 'x' }, '{}', '{"a":{"b":{"c":"x"}}}'],
    ['in an object that is there', { '/a/b': 1 }, '{"a": {"c":2}}', '{"a": {"b":1,"c":2}}'],
    ['under a name with signs', { '/a~1b~0"': 1 }, '{}', '{"a/b~\\"":1}'],
    ['under a name that every object inherits', { '/__proto__': { x: 1 } }, '{}', '{"__proto__":{"x":1}}'],
    ['without touching large numbers', { '/a': 1 }, '{"n":12345678901234567890}', '{"a":1,"n":12345678901234567890}'],
  ])('are put %s', (_where, fixed, args, expected) => {
    expect(fillRequestText(dressingWith(fixed), request(args))).toBe(request(expected));
    const filled = fillArguments(dressingWith(fixed), JSON.parse(args) as Record<string, unknown>);
    expect(JSON.parse(JSON.stringify(filled))).toEqual(JSON.parse(expected));
  });

  it('are put into a request without arguments', () => {
    expect(JSON.parse(fillRequestText(dressingWith({ '/a/b': 1 }), '{"params":{"name":"x"}}'))).toEqual({
      params: { name: 'x', arguments: { a: { b: 1 } } },
    });
  });

  it.each([
    ['the argument itself', { repo: 'mine' }, 'arguments.repo is not accepted'],
    ['the same value', { repo: 'a' }, 'arguments.repo is not accepted'],
    ['a name in another case', { REPO: 'mine' }, 'arguments.REPO is not accepted'],
    ['a hidden argument', { secret: 1 }, 'arguments.secret is not accepted'],
    ['an argument of an object', { filter: { state: 'all' } }, 'arguments.filter.state is not accepted'],
    ['an object in another case', { Filter: { state: 'all' } }, 'arguments.Filter is not accepted'],
    ['an object that is a text', { filter: 'all' }, 'arguments.filter must be object'],
    ['an object that is a list', { filter: [] }, 'arguments.filter must be object'],
    ['no object at all', [], 'arguments must be object'],
  ])('are not overridden by %s', (_what, args, message) => {
    const refusal = refusalOfArguments(dressingWith({ '/repo': 'a', '/filter/state': 'open' }, ['/secret']), args);
    expect(refusal).toMatchObject({ code: 'invalid_arguments', detail: expect.stringContaining(message) });
  });

  it('are the same in a text as in an object, and whatever is accepted keeps them', () => {
    const name = fc.constantFrom('a', 'b', 'A', 'c', '__proto__');
    const pointer = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`);
    const fixed = fc.dictionary(pointer, fc.jsonValue(), { maxKeys: 1 });
    fc.assert(
      fc.property(fixed, fc.dictionary(name, fc.jsonValue()), (values, args) => {
        const dressed = dressingWith(values);
        if (refusalOfArguments(dressed, args) !== undefined) return;
        const text = fillRequestText(dressed, request(JSON.stringify(args)));
        const sent = (JSON.parse(text) as { params: { arguments: Record<string, unknown> } }).params.arguments;
        expect(sent).toEqual(JSON.parse(JSON.stringify(fillArguments(dressed, args))));
        for (const { path, value } of dressed.fixed) {
          const found = path.reduce<unknown>(
            (at, key) => Object.entries(at as object).find(([k]) => k === key)?.[1],
            sent,
          );
          expect(found).toEqual(JSON.parse(JSON.stringify(value)));
        }
      }),
    );
  });
});

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
