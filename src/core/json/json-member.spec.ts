import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, dictionary, jsonValue, property, string } from 'fast-check';
import { countMembers, memberRange, withMember } from './json-member.js';

const slice = (text: string, name: string): string | undefined => {
  const range = memberRange(text, 0, name);
  return range && text.slice(range.start, range.end);
};

describe('memberRange', () => {
  it.each([
    ['{"a":1,"b":2}', 'b', '2'],
    [' { "a" : {"b":3} , "b" : [1,{"b":4}] } ', 'b', '[1,{"b":4}]'],
    ['{"a":"b","b":"\\"}\\\\"}', 'b', '"\\"}\\\\"'],
    ['{"\\u0062":null}', 'b', 'null'],
    ['{"a":["b",{"b":1}]}', 'b', undefined],
    ['{"x":"b:1,","b":12345678901234567890}', 'b', '12345678901234567890'],
    ['{}', 'b', undefined],
  ])('finds the value in %s', (text, name, value) => {
    expect(slice(text, name)).toBe(value);
  });

  it('finds every member of any object with any white space', () => {
    const object = dictionary(string(), jsonValue());
    assert(
      property(object, constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        const written = JSON.parse(text) as Record<string, unknown>;
        for (const name of Object.keys(written)) expect(JSON.parse(slice(text, name) ?? '')).toEqual(written[name]);
      }),
    );
  });
});

describe('withMember', () => {
  it.each([
    ['{}', '{"n":7}'],
    ['{ }', '{"n":7}'],
    ['{"a":12345678901234567890}', '{"n":7,"a":12345678901234567890}'],
    ['{"a":1, "n" : [2] }', '{"a":1, "n" : 7 }'],
  ])('sets a member of %s', (text, expected) => {
    expect(withMember(text, 0, 'n', '7')).toBe(expected);
  });
});

describe('countMembers', () => {
  it.each([
    ['{}', 0],
    ['{"a":1,"a":2}', 2],
    ['{"a":{"b":1,"c":2},"d":[{"e":1}]}', 2],
    [String.raw`{"a:\":b":"c:\\","d\\\"":":"}`, 2],
    ['\n{ "a" : ":" }', 1],
  ])('%s: %p', (text, count) => expect(countMembers(text)).toBe(count));

  it('counts the keys of any object with any white space', () => {
    const object = dictionary(string({ unit: constantFrom('"', '\\', ':', '{', '}', 'a') }), jsonValue());
    assert(
      property(object, constantFrom(undefined, 1, '\t'), (value, space) => {
        expect(countMembers(JSON.stringify(value, undefined, space))).toBe(Object.keys(value).length);
      }),
    );
  });
});
