import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FetchLike } from '@modelcontextprotocol/client';
import { fetch as undiciFetch, type RequestInit } from 'undici';
import { AddressPolicy } from '../net/address-policy.js';
import { GuardedDispatcher } from '../net/guarded-dispatcher.js';

/** For a whole exchange with an authorization server, in milliseconds. */
const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const SOCKETS_PER_ORIGIN = 16;

/** Why an authorization server, or an upstream's metadata, cannot be used. The message is a sentence for people. */
export class AuthorizationServerFault extends Error {
  override readonly name = 'AuthorizationServerFault';
}

/**
 * The `fetch` for metadata, registration, tokens and revocation. Upstreams name these addresses, so each one passes the address
 * check. Answers are at most 64 KiB, within 5 seconds, and redirects are not followed.
 */
@Injectable()
export class AuthorizationFetch implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;

  constructor(policy: AddressPolicy) {
    this.dispatcher = new GuardedDispatcher(policy, { connections: SOCKETS_PER_ORIGIN, connectTimeoutMs: TIMEOUT_MS });
  }

  readonly fetch: FetchLike = async (input, init = {}) => {
    const headers = { ...Object.fromEntries(new Headers(init.headers)), 'user-agent': 'signalbox' };
    const body = init.body == null ? null : textOf(init.body);
    const request: RequestInit = {
      method: init.method ?? 'GET',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      dispatcher: this.dispatcher,
    };
    const answer = await undiciFetch(String(input), request);
    const { status } = answer;
    if (status >= 300 && status < 400) {
      await answer.body?.cancel();
      throw new AuthorizationServerFault(`${originOf(input)} answered with a redirect, which is not followed.`);
    }
    const text = await this.read(answer.body, input);
    const isEmpty = status === 204 || status === 205 || status === 304;
    return new Response(isEmpty ? null : text, { status, headers: [...answer.headers] });
  };

  /**
   * The head of the answer to a request. Its body, which can be an endless stream, is dropped.
   * @throws what `fetch` throws
   */
  async head(url: string, init: { method: string; headers: Record<string, string>; body: string }): Promise<Response> {
    const answer = await undiciFetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      dispatcher: this.dispatcher,
    });
    await answer.body?.cancel();
    return new Response(null, { status: answer.status, headers: [...answer.headers] });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dispatcher.destroy();
  }

  private async read(body: AsyncIterable<Uint8Array> | null, input: string | URL): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body ?? []) {
      size += chunk.byteLength;
      if (size > MAX_ANSWER_BYTES) {
        throw new AuthorizationServerFault(`${originOf(input)} answered with more than ${MAX_ANSWER_BYTES} bytes.`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }
}

/** The SDK sends texts and forms. */
function textOf(body: NonNullable<globalThis.RequestInit['body']>): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError('Only texts and forms are sent to authorization servers.');
}

function originOf(input: string | URL): string {
  return new URL(input).origin;
}
