import { type Dispatcher, fetch as undiciFetch, type RequestInit } from 'undici';
import { PROVIDER_LIMITS } from '../net/http-limits.js';

type ProviderFetchLimits = Record<'headersTimeoutMs' | 'idleTimeoutMs' | 'maxAnswerBytes', number>;

/** An answer that goes on for longer than anybody would read. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

/**
 * The `fetch` of the provider SDKs: dials through the given dispatcher, notices providers that hang, bounds what they
 * answer, and follows no redirect, so that keys and prompts reach the stored address and no other.
 */
export function createProviderFetch(
  dispatcher: Dispatcher,
  limits: ProviderFetchLimits = PROVIDER_LIMITS,
): typeof globalThis.fetch {
  const { headersTimeoutMs: headersTimeout, idleTimeoutMs: bodyTimeout, maxAnswerBytes } = limits;
  // `fetch` takes no timeouts of its own, so every dispatch is given them here.
  const patient = dispatcher.compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout, bodyTimeout }, handler),
  );
  return async (input, init) => {
    // The SDKs send a URL as text and plain JSON text; the types of undici and of Node differ only where that is not so.
    const request = { ...init, redirect: 'manual', dispatcher: patient } as RequestInit;
    const answer = await undiciFetch(String(input), request);
    const { status, statusText } = answer;
    const headers = new Headers([...answer.headers]);
    const body = answer.body === null ? null : answer.body.pipeThrough(atMost(maxAnswerBytes));
    return new Response(body, { status, statusText, headers });
  };
}

function atMost(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size > maxBytes) controller.error(new AnswerTooLargeError(`The answer is larger than ${maxBytes} bytes.`));
      else controller.enqueue(chunk);
    },
  });
}
