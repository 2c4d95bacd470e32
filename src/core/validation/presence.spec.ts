import { describe, expect, it } from '@jest/globals';
import { IsInt, IsString, Min } from 'class-validator';
import { schemaOf } from './schema-of.js';
import { ChangeOf, MayBeAbsent, MayBeNull } from './presence.js';
import { validateInput } from './validate-input.js';

class Data {
  @IsString()
  title: string;

  @MayBeAbsent()
  @MayBeNull()
  @IsInt()
  @Min(1)
  count?: number | null;
}

class Change extends ChangeOf(Data) {}

describe('ChangeOf', () => {
  it('accepts every property, or none', () => {
    expect({ ...validateInput(Change, {}) }).toEqual({});
    expect({ ...validateInput(Change, { title: 'a', count: null }) }).toEqual({ title: 'a', count: null });
  });

  it.each([
    ['null for what cannot be null', { title: null }],
    ['a value that breaks a rule', { count: 0 }],
    ['an unknown property', { other: 1 }],
  ])('refuses %s', (_what, body) => {
    expect(() => validateInput(Change, body)).toThrow();
  });

  it('requires no property in its schema, and leaves the other class as it is', () => {
    expect(schemaOf(Change)).not.toHaveProperty('required');
    expect(Object.keys(schemaOf(Change)['properties'] ?? {})).toEqual(['title', 'count']);
    expect(() => validateInput(Data, {})).toThrow('required');
  });
});
