import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { fillArguments, fillRequestText, refusalOfArguments, argumentsOf, type ToolDressing } from './tool-dressing.js';

function dressing(fixed: Record<string, unknown>, hidden: string[] = []): ToolDressing {
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
    expect(fillRequestText(dressing(fixed), request(args))).toBe(request(expected));
    const filled = fillArguments(dressing(fixed), JSON.parse(args) as Record<string, unknown>);
    expect(JSON.parse(JSON.stringify(filled))).toEqual(JSON.parse(expected));
  });

  it('are put into a request without arguments', () => {
    expect(JSON.parse(fillRequestText(dressing({ '/a/b': 1 }), '{"params":{"name":"x"}}'))).toEqual({
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
    const refusal = refusalOfArguments(dressing({ '/repo': 'a', '/filter/state': 'open' }, ['/secret']), args);
    expect(refusal).toMatchObject({ code: 'invalid_arguments', detail: expect.stringContaining(message) });
  });

  it('are the same in a text as in an object, and whatever is accepted keeps them', () => {
    const name = fc.constantFrom('a', 'b', 'A', 'c', '__proto__');
    const pointer = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`);
    const fixed = fc.dictionary(pointer, fc.jsonValue(), { maxKeys: 1 });
    fc.assert(
      fc.property(fixed, fc.dictionary(name, fc.jsonValue()), (values, args) => {
        const dressed = dressing(values);
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
