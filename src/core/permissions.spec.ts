import { describe, expect, it } from '@jest/globals';
import { allows, allowsAny, isWithin, type PermissionMap } from './permissions.js';

const CONNECTION = '0198f0a0-0000-7000-8000-000000000001';

describe('permission maps', () => {
  it.each<[PermissionMap, string, string, boolean]>([
    [{}, 'self', 'A', false],
    [{ self: ['A'] }, 'self', 'A', true],
    [{ self: ['A'] }, 'self', 'B', false],
    [{ self: ['*'] }, 'self', 'B', true],
    [{ '*': ['*'] }, 'self', 'A', false],
    [{ '*': ['*'] }, CONNECTION, 'echo', true],
    [{ '*': ['echo'] }, CONNECTION, 'echo', true],
    [{ '*': ['echo'] }, CONNECTION, 'add', false],
    [{ [CONNECTION]: ['echo'] }, CONNECTION, 'echo', true],
    [{ [CONNECTION]: [] }, CONNECTION, 'echo', false],
    [{ [CONNECTION]: ['ech*'] }, CONNECTION, 'echo', false],
    [{}, '__proto__', 'toString', false],
    [{}, 'constructor', 'name', false],
  ])('%j on %s/%s → %s', (map, resource, tool, expected) => {
    expect(allows(map, resource, tool)).toBe(expected);
  });

  it('knows whether a resource is reachable at all', () => {
    expect(allowsAny({ [CONNECTION]: ['a'] }, CONNECTION)).toBe(true);
    expect(allowsAny({ [CONNECTION]: [] }, CONNECTION)).toBe(false);
    expect(allowsAny({ '*': ['a'] }, 'self')).toBe(false);
  });

  it.each<[PermissionMap, PermissionMap, boolean]>([
    [{ self: ['A'] }, { self: ['*'] }, true],
    [{ self: ['*'] }, { self: ['A', 'B'] }, false],
    [{ self: ['A'] }, { '*': ['*'] }, false],
    [{ [CONNECTION]: ['*'] }, { '*': ['*'] }, true],
    [{ '*': ['*'] }, { [CONNECTION]: ['*'] }, false],
    [{ '*': ['echo'] }, { '*': ['echo'] }, true],
    [{}, {}, true],
  ])('%j within %j → %s', (inner, outer, expected) => {
    expect(isWithin(inner, outer)).toBe(expected);
  });
});
