import { SERVICE } from '../contract/callers.js';
import {
  type ExchangeOptions,
  type OutgoingMessage,
  type UpstreamAnswer,
  type ChannelSession,
  isSessionLost,
  type UpstreamChannel,
} from '../messages/upstream-channel.js';
import type { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { httpError, toUpstreamError, UpstreamError } from '../contract/upstream-error.js';
import type { HttpTarget } from '../contract/upstream-target.js';
import { holdsCredential, storedHeaders } from './upstream-fetch.js';
import { parseRecord } from '../../core/is-record.js';
import { UPSTREAM_LIMITS } from '../../platform/net/http-limits.js';
import { beginningOf } from '../messages/answer-body.js';
import type { HttpAnswer } from '../sockets/http-answer.js';

type Method = 'POST' | 'GET' | 'DELETE';

/** Opens a stream of unsolicited messages in the modern era, as GET does in the legacy one. */
const LISTEN = 'subscriptions/listen';
const ACCEPT: Readonly<Record<Method, string>> = {
  POST: 'application/json, text/event-stream',
  GET: 'text/event-stream',
  DELETE: 'application/json',
};
/**
 * The response headers that are relayed in addition to the content type. Cookies, challenges and caching headers, which
 * could expose private answers, are not relayed.
 */
const RELAYED_HEADERS = ['allow', 'retry-after'];
/** Statuses that concern the stored credential or the upstream's health, whatever the body says. */
const UNRELAYED_STATUSES: ReadonlySet<number> = new Set([401, 403, 407, 429]);

/**
 * An MCP session over streamable HTTP (MCP 2025-11-25, transports), as bytes. Redirects are not followed, because each
 * target would receive the stored credentials.
 */
export class HttpChannel implements UpstreamChannel {
  private readonly url: URL;
  private readonly stored: Readonly<Record<string, string>>;

  /** @param isShared true if several callers send requests in the session, which notifications cancel (legacy era) */
  constructor(
    private readonly target: HttpTarget,
    private readonly sockets: UpstreamSockets,
    private readonly session: ChannelSession = {},
    private readonly isShared = false,
  ) {
    this.url = new URL(target.url);
    this.stored = storedHeaders(target);
  }

  postMessage({ body, method }: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer> {
    return this.exchange('POST', options, { body, isNotificationStream: method === LISTEN });
  }

  listen(options: ExchangeOptions): Promise<UpstreamAnswer> {
    return this.exchange('GET', options, { isNotificationStream: true });
  }

  end(options: ExchangeOptions): Promise<UpstreamAnswer> {
    return this.exchange('DELETE', options);
  }

  private async exchange(
    method: Method,
    options: ExchangeOptions,
    { body = null, isNotificationStream = false }: { body?: Buffer | null; isNotificationStream?: boolean } = {},
  ): Promise<UpstreamAnswer> {
    const { url, target, isShared } = this;
    const headers = this.headersFor(method, options);
    try {
      const caller = options.caller ?? SERVICE;
      const request = {
        target,
        url,
        method,
        headers,
        body,
        caller,
        isNotificationStream,
        isCancelledByMessage: isShared,
        ...(options.receiver !== undefined && { mayBeSilent: true }),
      };
      const answer = await this.sockets.exchange(request, options);
      const isFailure = answer.status < 200 || answer.status >= 300;
      return isFailure ? await this.failureOf(method, answer) : { ...headOf(answer), body: answer.body };
    } catch (error) {
      throw toUpstreamError(error, url.host);
    }
  }

  private headersFor(method: Method, { headers = {} }: ExchangeOptions): Record<string, string> {
    const { id, protocolVersion } = this.session;
    const all: Record<string, string> = { ...this.stored, accept: ACCEPT[method], 'accept-encoding': 'identity' };
    if (method === 'POST') all['content-type'] = 'application/json';
    if (id !== undefined) all['mcp-session-id'] = id;
    if (protocolVersion !== undefined) all['mcp-protocol-version'] = protocolVersion;
    return Object.assign(all, headers);
  }

  /** @throws UpstreamError unless the failure is relayed to the caller */
  private async failureOf(method: Method, answer: HttpAnswer): Promise<UpstreamAnswer> {
    const { status, body } = answer;
    const chunks: Buffer[] = [];
    for await (const chunk of beginningOf(body, UPSTREAM_LIMITS.maxErrorAnswerBytes)) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    if (this.session.id !== undefined && isSessionLost(status, text)) {
      throw new UpstreamError('session_lost', `The upstream at ${this.url.host} no longer knows the session.`, {
        status,
      });
    }
    const isOptional = method !== 'POST' && status === 405;
    const isRelayed = status >= 400 && status < 500 && !UNRELAYED_STATUSES.has(status);
    if (isRelayed && (isOptional || isRpcError(text))) {
      return { ...headOf(answer), body: Buffer.from(text) };
    }
    throw httpError(status, text, this.url.host, holdsCredential(this.target));
  }
}

function headOf({ status, headers }: HttpAnswer): Omit<UpstreamAnswer, 'body'> {
  const relayed: Record<string, string> = {};
  for (const name of RELAYED_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') relayed[name] = value;
  }
  const contentType = headers['content-type'];
  const sessionId = headers['mcp-session-id'];
  return {
    status,
    contentType: typeof contentType === 'string' ? contentType.split(';', 1)[0]?.trim().toLowerCase() : undefined,
    ...(typeof sessionId === 'string' && { sessionId }),
    headers: relayed,
  };
}

function isRpcError(text: string): boolean {
  const message = parseRecord(text);
  return message !== undefined && 'jsonrpc' in message && 'error' in message;
}
