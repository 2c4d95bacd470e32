import { describe, expect, it } from '@jest/globals';
import { type Holder, OwnedSessions } from './owned-sessions.js';

function holder(organizationId: string, callerId = 'only'): Holder {
  return { organizationId, callerId };
}

describe('OwnedSessions', () => {
  it('keeps sessions within its limit', () => {
    const sessions = new OwnedSessions(2);
    sessions.use('a', holder('one'));
    sessions.use('b', holder('one'));
    sessions.use('a', holder('one'));
    expect(sessions.findSurplus('a')).toBeUndefined();
  });

  it('evicts the least recently used session', () => {
    const sessions = new OwnedSessions(2);
    for (const key of ['a', 'b', 'a', 'c']) sessions.use(key, holder('one'));
    expect(sessions.findSurplus('c')).toBe('b');
  });

  it('evicts from the holder with the most sessions, even if others are less recently used', () => {
    const sessions = new OwnedSessions(4);
    sessions.use('quiet', holder('one'));
    for (const key of ['a', 'b', 'c', 'd']) sessions.use(key, holder('greedy'));
    expect(sessions.findSurplus('d')).toBe('a');
  });

  it('evicts from the organization with the most sessions, even if a key of another organization holds more than any of its keys', () => {
    const sessions = new OwnedSessions(5);
    for (const key of ['a', 'b']) sessions.use(key, holder('quiet'));
    for (const key of ['1', '2', '3', '4']) sessions.use(key, holder('greedy', key));
    expect(sessions.findSurplus('4')).toBe('1');
  });

  it('evicts from the key with the most sessions in its organization', () => {
    const sessions = new OwnedSessions(3);
    sessions.use('quiet', holder('one', 'quiet'));
    for (const key of ['a', 'b', 'c']) sessions.use(key, holder('one', 'greedy'));
    expect(sessions.findSurplus('c')).toBe('a');
  });

  it('prefers to evict a session without active requests', () => {
    const sessions = new OwnedSessions(2);
    for (const key of ['a', 'b', 'c']) sessions.use(key, holder('one')).held = key === 'a' ? 1 : 0;
    expect(sessions.findSurplus('c')).toBe('b');
    sessions.use('b', holder('one')).held = 1;
    expect(sessions.findSurplus('c')).toBe('a');
  });
});
