import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { fetch as undiciFetch, type RequestInit as UndiciRequestInit } from 'undici';
import { AddressPolicy } from './address-policy.js';
import { GuardedDispatcher } from './guarded-dispatcher.js';

/** For a whole exchange, in milliseconds. */
const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/** As many as there are token refreshes at a time, which can all be at one origin. */
const SOCKETS_PER_ORIGIN = 64;

/** What is used of a request. */
type RequestOptions = Pick<RequestInit, 'method' | 'headers' | 'body'>;

/** An answer that is not accepted. The message is a sentence for people. */
export class AnswerRefusedError extends Error {
  override readonly name = 'AnswerRefusedError';
}

/**
 * The `fetch` for documents and endpoints whose addresses other parties name, such as metadata, keys and tokens. Each
 * address passes the address check. Answers are at most 64 KiB, within 5 seconds, and redirects are not followed.
 */
@Injectable()
export class BoundedFetch implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;

  constructor(private readonly policy: AddressPolicy) {
    this.dispatcher = new GuardedDispatcher(policy, { connections: SOCKETS_PER_ORIGIN, connectTimeoutMs: TIMEOUT_MS });
  }

  /**
   * A bound function, for libraries that take one.
   * @throws AddressRefusedError, AnswerRefusedError for a redirect or a large answer, and what undici throws
   */
  readonly fetch = async (input: string | URL, init: RequestOptions = {}): Promise<Response> => {
    const answer = await this.send(input, init);
    const { status } = answer;
    if (status >= 300 && status < 400) {
      await answer.body?.cancel();
      throw new AnswerRefusedError(`${new URL(input).origin} answered with a redirect, which is not followed.`);
    }
    const text = await read(answer.body, input);
    const isEmpty = status === 204 || status === 205 || status === 304;
    return new Response(isEmpty ? null : text, { status, headers: [...answer.headers] });
  };

  /**
   * The head of the answer, redirects included. Its body, which can be an endless stream, is dropped.
   * @throws AddressRefusedError, and what undici throws
   */
  async head(input: string | URL, init: RequestOptions = {}): Promise<Response> {
    const { status, headers, body } = await this.send(input, init);
    await body?.cancel();
    return new Response(null, { status, headers: [...headers] });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dispatcher.destroy();
  }

  private send(input: string | URL, { method = 'GET', headers, body }: RequestOptions) {
    const request: UndiciRequestInit = {
      method,
      headers: { ...Object.fromEntries(new Headers(headers)), 'user-agent': 'signalbox' },
      body: body == null ? null : textOf(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      dispatcher: this.dispatcher,
    };
    return undiciFetch(this.policy.checkUrl(String(input)), request);
  }
}

async function read(body: AsyncIterable<Uint8Array> | null, input: string | URL): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) {
      throw new AnswerRefusedError(`${new URL(input).origin} answered with more than ${MAX_ANSWER_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function textOf(body: NonNullable<RequestInit['body']>): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError('Only texts and forms are sent.');
}
