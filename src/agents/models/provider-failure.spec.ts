import { describe, expect, it } from '@jest/globals';
import { APICallError, InvalidPromptError, InvalidToolInputError, NoOutputGeneratedError, NoSuchToolError } from 'ai';
import { AddressRefusedError } from '../../platform/net/address-policy.js';
import { BuiltinFailure } from './builtin/builtin-failure.js';
import { AnswerTooLargeError } from './provider-fetch.js';
import { describeProviderFailure } from './provider-failure.js';

const SECRET = 'sk-test-secret';

/** What `ai` makes of a `fetch` that failed; a status is there if the answer had begun. */
function callError(cause: unknown, statusCode?: number): APICallError {
  return new APICallError({ message: SECRET, url: `http://${SECRET}@x`, requestBodyValues: {}, statusCode, cause });
}

function withCode(code: string, message = SECRET): Error {
  return Object.assign(new Error(message), { code });
}

function circular(): Error {
  const error = new Error(SECRET);
  error.cause = new Error(SECRET, { cause: error });
  return error;
}

describe('describeProviderFailure', () => {
  it.each<[name: string, error: unknown, code: string, retryable: boolean]>([
    ['a timeout signal', new DOMException(SECRET, 'TimeoutError'), 'provider_timeout', true],
    ['an abort', new DOMException(SECRET, 'AbortError'), 'provider_timeout', false],
    [
      'an abort by a timeout',
      Object.assign(withCode('ABORT_ERR'), { name: 'AbortError', cause: new DOMException(SECRET, 'TimeoutError') }),
      'provider_timeout',
      true,
    ],
    [
      'silence in mid-stream',
      callError(new TypeError('terminated', { cause: withCode('UND_ERR_BODY_TIMEOUT') }), 200),
      'provider_timeout',
      true,
    ],
    [
      'a refused connection',
      callError(new TypeError('fetch failed', { cause: withCode('ECONNREFUSED') })),
      'provider_unavailable',
      true,
    ],
    ['a connection that was never made', callError(new Error('bad port')), 'provider_unavailable', true],
    ['a reset', new Error(SECRET, { cause: withCode('ECONNRESET') }), 'provider_unavailable', true],
    ['a socket hang up', new Error('socket hang up'), 'provider_unavailable', true],
    ['a body that broke off', callError(new TypeError('terminated'), 200), 'provider_unavailable', true],
    [
      'a certificate',
      callError(new TypeError('fetch failed', { cause: withCode('CERT_HAS_EXPIRED') })),
      'provider_unavailable',
      false,
    ],
    ['a status whose body broke off', callError(withCode('ECONNRESET'), 401), 'provider_unauthorized', false],
    ['an answer without end', callError(new AnswerTooLargeError(SECRET), 200), 'provider_bad_response', false],
    ['an unknown tool', new NoSuchToolError({ toolName: SECRET }), 'provider_bad_response', false],
    [
      'bad arguments',
      new InvalidToolInputError({ toolName: SECRET, toolInput: SECRET, cause: SECRET }),
      'provider_bad_response',
      false,
    ],
    ['no output', new NoOutputGeneratedError({ message: SECRET }), 'provider_bad_response', false],
    [
      'no output for a reason',
      new NoOutputGeneratedError({ cause: withCode('ECONNRESET') }),
      'provider_unavailable',
      true,
    ],
    ['an error frame', { detail: SECRET }, 'provider_bad_response', false],
    ['an error frame of text', SECRET, 'provider_bad_response', false],
    ['a prompt of ours', new InvalidPromptError({ prompt: SECRET, message: SECRET }), 'internal', false],
    ['a programming error', new TypeError(SECRET), 'internal', false],
    ['an error that caused itself', circular(), 'internal', false],
    ['nothing', undefined, 'internal', false],
  ])('describes %s', (_, error, code, retryable) => {
    const failure = describeProviderFailure(error);
    expect(failure).toMatchObject({ code, retryable });
    expect(failure.message).not.toContain(SECRET);
  });

  it('quotes the message of an error document, without credentials and control characters, and not at any length', () => {
    const said = (message: string): string =>
      describeProviderFailure(
        new APICallError({ message, url: 'http://x', requestBodyValues: {}, statusCode: 400, data: { error: {} } }),
      ).message;
    expect(said('The model m\n\u0000 has  no tools.')).toBe(
      'The model provider rejected the request (HTTP 400). It says: The model m \ufffd has no tools.',
    );
    expect(said('You sent Authorization: Bearer sk-secret')).not.toContain('sk-secret');
    expect(said('x'.repeat(100_000)).length).toBeLessThan(400);
    expect(said('')).toBe('The model provider rejected the request (HTTP 400).');
  });

  it('shows the messages that are ours to show', () => {
    expect(describeProviderFailure(new BuiltinFailure('out of coal'))).toEqual({
      code: 'model_failed',
      message: 'out of coal',
      retryable: false,
    });
    const refusal = new AddressRefusedError('The host "metadata" is a link-local address.');
    expect(describeProviderFailure(callError(new TypeError('fetch failed', { cause: refusal })))).toEqual({
      code: 'provider_unavailable',
      message: refusal.message,
      retryable: false,
    });
  });
});
