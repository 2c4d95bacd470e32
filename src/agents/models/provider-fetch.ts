import { type Dispatcher, fetch as undiciFetch, type RequestInit } from 'undici';
import { HIDDEN } from '../../core/credential-forms.js';
import { PROVIDER_LIMITS } from '../../platform/net/http-limits.js';
import { type AnswerBounds, cutAt, type StreamFraming, withinBounds } from './answer-bounds.js';

type ProviderFetchLimits = AnswerBounds &
  Readonly<Record<'headersTimeoutMs' | 'idleTimeoutMs' | 'maxErrorAnswerBytes', number>>;

/** The beginning of a key by which masked or cut repetitions of it are recognized. */
const KEY_BEGINNING = 8;

/**
 * A `fetch` that replaces secrets in the error documents of the provider, so that their messages can be shown:
 * providers repeat a wrong key, whole, masked or cut, and AWS the headers that it expected to be signed. Text that
 * begins like a secret is replaced up to the next character that no key has.
 */
export function hidingKey(
  fetch: typeof globalThis.fetch,
  ...stored: readonly (string | undefined)[]
): typeof globalThis.fetch {
  const secrets = stored.filter((secret) => secret !== undefined && secret !== '') as string[];
  if (secrets.length === 0) return fetch;
  // A secret that begins like another one is replaced as a whole before that one.
  secrets.sort((one, other) => other.length - one.length);
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (answer.ok || answer.body === null) return answer;
    const { status, statusText, headers } = answer;
    return new Response(withoutSecrets(await textOf(answer.body), secrets), { status, statusText, headers });
  };
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  const whole = secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
  return secrets.reduce((rest, secret) => rest.replace(repetitionOf(secret), HIDDEN), whole);
}

function repetitionOf(secret: string): RegExp {
  const beginning = secret.slice(0, KEY_BEGINNING).replace(/[^A-Za-z0-9]/g, '\\$&');
  return new RegExp(secret.length > KEY_BEGINNING ? `${beginning}[\\w.*…-]*` : beginning, 'g');
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  } catch {
    // The status says enough.
  }
  return text;
}

/**
 * The `fetch` of the provider SDKs. It uses the given dispatcher, times out when a provider hangs, limits the size of
 * responses and of each document in them, and cuts error documents. It follows no redirect, so that keys and prompts
 * reach only the stored address.
 */
export function createProviderFetch(
  dispatcher: Dispatcher,
  limits: ProviderFetchLimits = PROVIDER_LIMITS,
  framing: StreamFraming = 'events',
): typeof globalThis.fetch {
  const { headersTimeoutMs: headersTimeout, idleTimeoutMs: bodyTimeout, maxErrorAnswerBytes } = limits;
  // `fetch` has no timeout options, so they are set on every dispatch.
  const patient = dispatcher.compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout, bodyTimeout }, handler),
  );
  return async (input, init) => {
    // The SDKs send string URLs and JSON strings; the types of undici and Node differ only for other values.
    const request = { ...init, redirect: 'manual', dispatcher: patient } as RequestInit;
    const answer = await undiciFetch(String(input), request);
    const { ok, status, statusText } = answer;
    const headers = new Headers([...answer.headers]);
    const body = answer.body?.pipeThrough(ok ? withinBounds(limits, framing) : cutAt(maxErrorAnswerBytes)) ?? null;
    return new Response(body, { status, statusText, headers });
  };
}
