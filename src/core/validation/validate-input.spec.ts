import { describe, expect, it } from '@jest/globals';
import { IsInt, IsObject, IsString } from 'class-validator';
import { DomainError } from '../domain-error.js';
import { MayBeAbsent, MayBeNull } from './presence.js';
import { inspectInput, summarize, validateInput } from './validate-input.js';
import { NestedList } from './nested.js';

class Item {
  @IsString()
  name: string;

  @MayBeAbsent()
  @IsInt()
  count?: number;
}

class Basket {
  @NestedList(() => Item)
  items: Item[];

  @MayBeAbsent()
  @MayBeNull()
  @IsString()
  note?: string | null;

  @MayBeAbsent()
  @IsObject()
  extra?: Record<string, unknown>;
}

class Empty {}

function faultsOf(body: unknown): [path: string, code: string][] {
  return inspectInput(Basket, body).faults.map(({ path, code }) => [path, code]);
}

describe('validateInput', () => {
  it('makes instances of the classes, at every level', () => {
    const basket = validateInput(Basket, { items: [{ name: 'pear', count: 2 }], note: null });
    expect(basket).toBeInstanceOf(Basket);
    expect(basket.items[0]).toBeInstanceOf(Item);
    expect(basket).toEqual({ items: [{ name: 'pear', count: 2 }], note: null });
  });

  it('leaves free objects as they are', () => {
    const extra = { a: [1, { b: null }], type: 'text' };
    expect(validateInput(Basket, { items: [], extra }).extra).toEqual(extra);
  });

  it('throws one error with all faults', () => {
    const attempt = (): unknown => validateInput(Basket, { items: [{ name: 1 }], note: 2 });
    expect(attempt).toThrow(DomainError);
    expect(attempt).toThrow(/^items\[0\]\.name: .*\(and 1 more\)$/);
  });

  it.each<[string, unknown, [string, string][]]>([
    ['a missing property', {}, [['items', 'required']]],
    ['an unknown property', { items: [], colour: 1 }, [['colour', 'unknown_property']]],
    ['an unknown property below', { items: [{ name: 'a', id: 1 }] }, [['items[0].id', 'unknown_property']]],
    ['a number as text', { items: [{ name: 'a', count: '2' }] }, [['items[0].count', 'is_int']]],
    ['null where it may only be absent', { items: [{ name: 'a', count: null }] }, [['items[0].count', 'is_int']]],
    ['the third item', { items: [{ name: 'a' }, { name: 'b' }, {}] }, [['items[2].name', 'required']]],
    ['NUL in a text', { items: [], note: 'a\u0000' }, [['note', 'nul_character']]],
    ['NUL in a name', { items: [], extra: { 'a\u0000': 1 } }, [['extra', 'nul_character']]],
    ['NUL in a list', { items: [{ name: '\u0000' }] }, [['items[0].name', 'nul_character']]],
    ['half of a surrogate pair', { items: [], note: '\ud800' }, [['note', 'unpaired_surrogate']]],
    ['toString', { items: [], toString: 1 }, [['toString', 'unknown_property']]],
    ['constructor below', { items: [], extra: { constructor: 1 } }, [['extra.constructor', 'unknown_property']]],
    ['__proto__', JSON.parse('{"items":[],"__proto__":{"note":"x"}}'), [['__proto__', 'unknown_property']]],
    ['no object', 'text', [['', 'is_object']]],
    ['a list', [], [['', 'is_object']]],
    ['null', null, [['', 'is_object']]],
  ])('refuses %s', (_what, body, faults) => {
    expect(faultsOf(body)).toEqual(faults);
  });

  it('refuses a thing that is not an object in a list of them', () => {
    expect(faultsOf({ items: ['pear'] }).map(([path]) => path)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^items/)]),
    );
    expect(faultsOf({ items: [null] })).not.toEqual([]);
    expect(faultsOf({ items: [{ name: 'a' }, []] })).toEqual([['items[1]', 'nested_list']]);
    expect(faultsOf({ items: [[{ name: 'a' }]] })).toEqual([['items[0]', 'nested_list']]);
  });

  it('accepts only the empty object for a class without properties', () => {
    expect(validateInput(Empty, {})).toBeInstanceOf(Empty);
    expect(inspectInput(Empty, { a: 1 }).faults).toMatchObject([{ path: 'a', code: 'unknown_property' }]);
  });

  it('returns messages that quote no value', () => {
    const { faults } = inspectInput(Basket, { items: [{ name: 7, count: 'secret-value' }], colour: 'secret-value' });
    expect(faults).toHaveLength(3);
    for (const { message } of faults) {
      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(message).not.toContain('secret-value');
    }
  });
});

describe('summarize', () => {
  const fault = { path: 'a.b', code: 'is_string', message: 'Must be a string.' };

  it('is one sentence about the first fault and the number of the others', () => {
    expect(summarize([fault])).toBe('a.b: Must be a string.');
    expect(summarize([fault, fault, fault])).toBe('a.b: Must be a string. (and 2 more)');
    const missing = { path: 'data', code: 'required', message: 'This property is required.' };
    expect(summarize([fault, missing])).toBe('data: This property is required. (and 1 more)');
    expect(summarize([{ ...fault, path: '' }])).toBe('Must be a string.');
  });
});
