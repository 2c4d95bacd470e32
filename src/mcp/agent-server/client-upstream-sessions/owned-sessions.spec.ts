import { describe, expect, it } from '@jest/globals';
import { type Holder, OwnedSessions } from './owned-sessions.js';

function holder(organizationId: string, apiKeyId = 'only'): Holder {
  return { organizationId, apiKeyId };
}

describe('OwnedSessions', () => {
  it('keeps what is within its limit', () => {
    const sessions = new OwnedSessions(2);
    sessions.use('a', holder('one'));
    sessions.use('b', holder('one'));
    sessions.use('a', holder('one'));
    expect(sessions.surplusBeside('a')).toBeUndefined();
  });

  it('gives up the one that was used longest ago', () => {
    const sessions = new OwnedSessions(2);
    for (const key of ['a', 'b', 'a', 'c']) sessions.use(key, holder('one'));
    expect(sessions.surplusBeside('c')).toBe('b');
  });

  it('gives up one of whoever holds the most, though others have not used theirs for longer', () => {
    const sessions = new OwnedSessions(4);
    sessions.use('quiet', holder('one'));
    for (const key of ['a', 'b', 'c', 'd']) sessions.use(key, holder('greedy'));
    expect(sessions.surplusBeside('d')).toBe('a');
  });

  it('gives up none of an organization with few, though one of its keys holds more than any of many keys of another', () => {
    const sessions = new OwnedSessions(5);
    for (const key of ['a', 'b']) sessions.use(key, holder('quiet'));
    for (const key of ['1', '2', '3', '4']) sessions.use(key, holder('greedy', key));
    expect(sessions.surplusBeside('4')).toBe('1');
  });

  it('gives up one of the key that holds the most in its organization', () => {
    const sessions = new OwnedSessions(3);
    sessions.use('quiet', holder('one', 'quiet'));
    for (const key of ['a', 'b', 'c']) sessions.use(key, holder('one', 'greedy'));
    expect(sessions.surplusBeside('c')).toBe('a');
  });

  it('rather gives up one in which nothing is under way', () => {
    const sessions = new OwnedSessions(2);
    for (const key of ['a', 'b', 'c']) sessions.use(key, holder('one')).held = key === 'a' ? 1 : 0;
    expect(sessions.surplusBeside('c')).toBe('b');
    sessions.use('b', holder('one')).held = 1;
    expect(sessions.surplusBeside('c')).toBe('a');
  });
});
