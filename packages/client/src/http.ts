import { SignalboxError } from './signalbox-error.js';

/** Where Signalbox is, and who calls it. */
export interface SignalboxOptions {
  /** Such as `http://127.0.0.1:3000`. */
  readonly url: string;
  /**
   * An API key, an OAuth access token, or the token of one thread. A function is asked before each request. Without it,
   * requests carry no `Authorization`: `fetch` adds what shows the caller.
   */
  readonly apiKey?: string | (() => string | Promise<string>);
  /** The organization's slug. */
  readonly org?: string;
  /** How often a request that may be repeated is repeated after a failure. */
  readonly retries?: number;
  /** Aborting ends all requests and streams. */
  readonly signal?: AbortSignal;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Aborting ends the request, not the run. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** What is sent as it is, and not as JSON. */
export type RawBody = Blob | Uint8Array | ReadableStream<Uint8Array>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** The path behind `/api/:org/`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** In the place of `body`. */
  readonly rawBody?: RawBody;
  readonly signal?: AbortSignal | undefined;
  /** True if a second request has the same effect as one. Otherwise only refused requests are repeated. */
  readonly isRepeatable: boolean;
}

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
/** A refusal that lasts longer, such as that of a spending limit until midnight, is for the caller to deal with. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Statuses of servers and proxies that may recover. */
const TEMPORARY = new Set([502, 503, 504]);

/** Sends requests, and repeats them where that is safe. */
export class Http {
  readonly #options: SignalboxOptions;
  readonly retries: number;

  constructor(options: SignalboxOptions) {
    this.#options = options;
    this.retries = options.retries ?? 5;
  }

  /** The signal of a request, which the signal of all requests aborts as well. */
  signalFor(signal: AbortSignal | undefined): AbortSignal | undefined {
    const signals = [this.#options.signal, signal].filter((each) => each !== undefined);
    return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  }

  /** @throws SignalboxError for a refused request; the error of `fetch` if there is no response */
  async send({ signal: ofRequest, ...rest }: HttpRequest): Promise<Response> {
    const request: HttpRequest = { ...rest, signal: this.signalFor(ofRequest) };
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(request).catch((error: unknown) => ({ error }));
      if ('error' in outcome) {
        if (request.signal?.aborted || !request.isRepeatable || attempt > this.retries) throw outcome.error;
        await pause(backoffMs(attempt), request.signal);
        continue;
      }
      if (outcome.ok) return outcome;
      const isWorthIt =
        (outcome.status === 429 && !isStream(request.rawBody)) ||
        (request.isRepeatable && TEMPORARY.has(outcome.status));
      const afterMs = retryAfterMs(outcome);
      const error = await SignalboxError.of(outcome);
      if (!isWorthIt || afterMs > LONGEST_RETRY_AFTER_MS || attempt > this.retries) throw error;
      await pause(Math.max(afterMs, backoffMs(attempt)), request.signal);
    }
  }

  async #attempt({ method, path, headers, body, rawBody, signal }: HttpRequest): Promise<Response> {
    const { url, org = 'default', apiKey, fetch = globalThis.fetch } = this.#options;
    const key = typeof apiKey === 'function' ? await apiKey() : apiKey;
    return fetch(`${url.replace(/\/+$/, '')}/api/${encodeURIComponent(org)}/${path}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // The types of `fetch` exclude shared memory, which a type such as `Buffer` leaves open.
      ...(rawBody === undefined ? {} : { body: rawBody as NonNullable<RequestInit['body']> }),
      // Without it, `fetch` refuses streams.
      ...(isStream(rawBody) ? { duplex: 'half' } : {}),
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

/** A stream can be sent only once. */
function isStream(body: RawBody | undefined): boolean {
  return body instanceof ReadableStream;
}

/** The pause after attempt `attempt` (from 1), in milliseconds: doubling, and half of it random. */
export function backoffMs(attempt: number): number {
  const full = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return full / 2 + (Math.random() * full) / 2;
}

/** @throws the signal's reason when it aborts */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** `Retry-After` in its form of seconds (RFC 9110 §10.2.3), which is the one that Signalbox sends. */
function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) ? seconds * 1000 : 0;
}
