import { describe, expect, it } from '@jest/globals';
import { closestName, suggestionFor } from './closest-name.js';

const NAMES = ['RUN_GET', 'RUN_LIST', 'API_KEY_LIST', 'COLLECTION_THREADS_GET', 'echo', 'get-sum'];

describe('closestName', () => {
  it.each([
    ['RUN_GETT', 'RUN_GET'],
    ['RUN_GTE', 'RUN_GET'],
    ['run_get', 'RUN_GET'],
    ['COLLECTION_THREAD_GET', 'COLLECTION_THREADS_GET'],
    ['get_sum', 'get-sum'],
    ['ehco', 'echo'],
    ['DELETE_ALL', undefined],
    ['xy', undefined],
    ['', undefined],
    ['R'.repeat(100_000), undefined],
  ])('of %s is %s', (name, expected) => {
    expect(closestName(name, NAMES)).toBe(expected);
  });

  it('prefers the smaller distance, whatever the order', () => {
    expect(closestName('abcdeX', ['abcdYZ', 'abcdeY', 'abcXYZ'])).toBe('abcdeY');
  });
});

describe('suggestionFor', () => {
  it('is the end of a message, or empty', () => {
    expect(suggestionFor('RUN_GETT', NAMES)).toBe(' Did you mean RUN_GET?');
    expect(suggestionFor('DELETE_ALL', NAMES)).toBe('');
  });
});
