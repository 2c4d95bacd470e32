import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../core/domain-error.js';
import { answerFormOf } from './turn-responder.js';

describe('the form of an answer', () => {
  it.each([
    [{}, 'accepted'],
    [{ accept: '*/*' }, 'accepted'],
    [{ accept: 'text/*, application/json' }, 'accepted'],
    [{ accept: 'application/json, text/event-stream;q=0' }, 'accepted'],
    [{ accept: 'text/event-stream;q=0.000' }, 'accepted'],
    [{ accept: 'text/event-stream' }, 'stream'],
    [{ accept: 'application/json, text/event-stream' }, 'accepted'],
    [{ accept: 'text/event-stream, application/json' }, 'accepted'],
    [{ accept: 'application/json, Text/Event-Stream; q=0.5' }, 'accepted'],
    [{ accept: 'text/event-stream;q=0.5, */*' }, 'accepted'],
    [{ accept: 'text/event-stream, */*' }, 'stream'],
    [{ accept: '*/*;q=0.1, text/event-stream;q=0.1' }, 'stream'],
    [{ accept: 'application/json;q=0.5, Text/Event-Stream' }, 'stream'],
    [{ accept: 'application/json;q=0.2, */*, text/event-stream;q=0.5' }, 'stream'],
    [{ accept: 'text/event-stream', prefer: 'wait=5' }, 'stream'],
    [{ prefer: 'respond-async' }, 'accepted'],
    [{ prefer: 'return=minimal; wait=5' }, 'accepted'],
    [{ prefer: 'foo="a, wait=5"' }, 'accepted'],
    [{ prefer: '' }, 'accepted'],
  ])('with %j is %s', (headers, type) => {
    expect(answerFormOf(headers)).toEqual({ type });
  });

  it.each([
    ['wait=1', 1],
    ['wait=60', 60],
    ['wait=61', 60],
    ['wait=99999999999999999999', 60],
    ['wait="10"', 10],
    ['Wait = 10', 10],
    ['respond-async, wait=10', 10],
    ['return=minimal; foo="wait=5", wait=7; bar', 7],
    ['wait=3, wait=9', 3],
  ])('with Prefer: %s is a result after at most %i s', (prefer, waitSeconds) => {
    expect(answerFormOf({ prefer })).toEqual({ type: 'result', waitSeconds });
  });

  it.each([
    'wait',
    'wait=',
    'wait=""',
    'wait=abc',
    'wait=0',
    'wait=-1',
    'wait=1.5',
    'wait=1e1',
    'wait=1 0',
    'a, wait=x',
  ])('cannot be Prefer: %s', (prefer) => {
    expect(() => answerFormOf({ prefer })).toThrow(DomainError);
    expect(() => answerFormOf({ prefer, accept: 'text/event-stream' })).toThrow(DomainError);
  });
});
