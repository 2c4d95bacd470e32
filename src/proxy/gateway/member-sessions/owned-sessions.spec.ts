import { describe, expect, it } from '@jest/globals';
import { OwnedSessions } from './owned-sessions.js';

describe('OwnedSessions', () => {
  it('keeps what is within its limit', () => {
    const sessions = new OwnedSessions(2);
    sessions.use('a', 'one');
    sessions.use('b', 'one');
    sessions.use('a', 'one');
    expect(sessions.surplusBeside('a')).toBeUndefined();
  });

  it('gives up the one that was used longest ago', () => {
    const sessions = new OwnedSessions(2);
    for (const key of ['a', 'b', 'a', 'c']) sessions.use(key, 'one');
    expect(sessions.surplusBeside('c')).toBe('b');
  });

  it('gives up one of whoever holds the most, though others have not used theirs for longer', () => {
    const sessions = new OwnedSessions(4);
    sessions.use('quiet', 'one');
    for (const key of ['a', 'b', 'c', 'd']) sessions.use(key, 'greedy');
    expect(sessions.surplusBeside('d')).toBe('a');
  });

  it('rather gives up one in which nothing is under way', () => {
    const sessions = new OwnedSessions(2);
    for (const key of ['a', 'b', 'c']) sessions.use(key, 'one').held = key === 'a' ? 1 : 0;
    expect(sessions.surplusBeside('c')).toBe('b');
    sessions.use('b', 'one').held = 1;
    expect(sessions.surplusBeside('c')).toBe('a');
  });
});
