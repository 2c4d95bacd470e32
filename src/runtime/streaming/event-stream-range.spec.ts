import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../core/domain-error.js';
import { eventStreamRange } from './event-stream-range.js';

describe('the range text/event-stream', () => {
  it.each([
    ['text/event-stream', undefined],
    ['text/event-stream;ai=6', 6],
    ['text/event-stream;ai=5', 5],
    ['text/event-stream; ai="7"', 7],
    ['application/json, Text/Event-Stream ; q=0.5 ; AI = 12', 12],
    ['text/event-stream;ai=4;q=0, text/event-stream;ai=6', 6],
    ['text/event-stream;charset=utf-8', undefined],
  ])('in Accept: %s states the version %s', (accept, aiVersion) => {
    expect(eventStreamRange(accept)).toEqual({ aiVersion });
  });

  it.each([undefined, '', '*/*', 'text/*;ai=6', 'application/json;ai=x', 'text/event-stream;ai=x;q=0'])(
    'is not in Accept: %s',
    (accept) => {
      expect(eventStreamRange(accept)).toBeUndefined();
    },
  );

  it.each(['4', '0', '-6', '6.0', '6x', '', '""', '99999'])('cannot have the version %s', (version) => {
    expect(() => eventStreamRange(`text/event-stream;ai=${version}`)).toThrow(DomainError);
  });
});
