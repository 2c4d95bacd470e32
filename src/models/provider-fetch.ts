import { type Dispatcher, fetch as undiciFetch, type RequestInit } from 'undici';
import { PROVIDER_LIMITS } from '../net/http-limits.js';

type ProviderFetchLimits = Record<'headersTimeoutMs' | 'idleTimeoutMs' | 'maxAnswerBytes', number>;

/** A response that exceeds the size limit. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

/**
 * The `fetch` of the provider SDKs. It uses the given dispatcher, times out when a provider hangs and limits the size
 * of responses. It follows no redirect, so that keys and prompts reach only the stored address.
 */
export function createProviderFetch(
  dispatcher: Dispatcher,
  limits: ProviderFetchLimits = PROVIDER_LIMITS,
): typeof globalThis.fetch {
  const { headersTimeoutMs: headersTimeout, idleTimeoutMs: bodyTimeout, maxAnswerBytes } = limits;
  // `fetch` has no timeout options, so they are set on every dispatch.
  const patient = dispatcher.compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout, bodyTimeout }, handler),
  );
  return async (input, init) => {
    // The SDKs send string URLs and JSON strings; the types of undici and Node differ only for other values.
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
      if (size > maxBytes) controller.error(new AnswerTooLargeError(`The response is larger than ${maxBytes} bytes.`));
      else controller.enqueue(chunk);
    },
  });
}
