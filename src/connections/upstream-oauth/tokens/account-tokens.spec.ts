import { describe, expect, it } from '@jest/globals';
import { type AccountTokens, judgeDemand, uniteScopes } from './account-tokens.js';

describe('uniteScopes', () => {
  it('contains each scope once, in the order of its first appearance', () => {
    expect(uniteScopes('b a', undefined, 'a  c', '')).toBe('b a c');
    expect(uniteScopes(undefined, ' ')).toBeUndefined();
  });
});

describe('judgeDemand', () => {
  const account = { scope: 'read list', demandedScope: 'write' } as AccountTokens;

  it.each([
    ['new', 'admin', 'a scope that was never requested'],
    ['new', 'read admin', 'a scope next to one that was requested'],
    ['noted', 'write', 'a scope that the next log-in requests'],
    ['noted', 'write read', 'such a scope next to one that was requested'],
    ['useless', 'read', 'a scope that was requested'],
    ['useless', 'list  read', 'only scopes that were requested'],
    ['useless', 'a"b', 'an invalid scope'],
    ['useless', 'ünlautig', 'a scope with other letters than ASCII'],
    ['useless', 'x'.repeat(2100), 'a scope that is too long'],
  ])('is %s for %p: %s', (expected, demanded) => {
    expect(judgeDemand(account, demanded)).toBe(expected);
  });

  it('is new for the first scopes of all', () => {
    expect(judgeDemand({} as AccountTokens, 'read')).toBe('new');
  });
});
