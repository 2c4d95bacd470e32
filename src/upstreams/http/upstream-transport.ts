import { AsyncLocalStorage } from 'node:async_hooks';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { SessionTransport } from '../contract/session-transport.js';
import { LOG_OF_CALL, ROOM_OF_CALL } from '../session/call-context.js';
import type { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { UpstreamMisbehaviour } from '../contract/upstream-error.js';
import { createUpstreamFetch, type AnswerObserver } from './upstream-fetch.js';
import type { HttpTarget } from '../contract/upstream-target.js';

/** The time limit of a notification, or of this service's answer to a request of the upstream. */
const ONE_WAY_TIMEOUT_MS = 10_000;
/** An event stream should end after its response; otherwise it is closed after this time. */
const STREAM_LINGER_MS = 1_000;
/** How many exchanges get that time; further ones are closed at once. */
const MAX_LINGERING = 64;
/** How many answers are sent to the upstream at a time; further requests of an upstream stay unanswered. */
const MAX_ACTIVE_ANSWERS = 16;
/** Bounds for the pause that an upstream requests before an interrupted stream is resumed. */
const MIN_RESUME_DELAY_MS = 100;
const MAX_RESUME_DELAY_MS = 30_000;

/**
 * The SDK's streamable HTTP transport, hardened against misbehaving upstreams. `send` of a request settles when its
 * answer has arrived or can no longer arrive. In both eras, its HTTP exchange ends when the protocol layer gives up on
 * the request. The work that an upstream can cause is bounded.
 */
export class UpstreamTransport implements SessionTransport {
  readonly hasEnded = false;
  readonly fault = undefined;
  readonly hasPerRequestStream = true;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  private readonly http: StreamableHTTPClientTransport;
  private readonly exchanges = new Map<RequestId, Exchange>();
  /** Tells the fetch function which exchange it works for. */
  private readonly current = new AsyncLocalStorage<Exchange>();
  private activeAnswers = 0;
  private lingering = 0;

  constructor(target: HttpTarget, sockets: UpstreamSockets) {
    this.http = new StreamableHTTPClientTransport(new URL(target.url), {
      fetch: createUpstreamFetch(target, sockets, () => this.current.getStore()),
      // Leaves redirects to `fetch`, which follows none; the transport would follow those within the origin.
      redirectPolicy: 'follow',
      reconnectionScheduler: resumeLater,
    });
    // oxlint-disable unicorn/prefer-add-event-listener -- a transport of the SDK has callbacks, not events
    this.http.onclose = () => this.onclose?.();
    this.http.onerror = (error) => this.onerror?.(error);
    this.http.onmessage = (message) => this.receive(message);
    // oxlint-enable unicorn/prefer-add-event-listener
  }

  /** The session that the upstream opened at `initialize`; undefined for an upstream without sessions. */
  get sessionId(): string | undefined {
    return this.http.sessionId;
  }

  start(): Promise<void> {
    return this.http.start();
  }

  close(): Promise<void> {
    return this.http.close();
  }

  setProtocolVersion(version: string): void {
    this.http.setProtocolVersion(version);
  }

  /** Ends the session at the upstream (DELETE). Rejects if the upstream refuses. */
  terminateSession(): Promise<void> {
    return this.http.terminateSession();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return isJSONRPCRequest(message) ? this.sendRequest(message, options) : this.sendOneWay(message, options);
  }

  private async sendRequest(message: JSONRPCRequest, options: TransportSendOptions = {}): Promise<void> {
    const exchange = new Exchange(options.requestSignal);
    this.exchanges.set(message.id, exchange);
    try {
      await this.current.run(exchange, () =>
        this.http.send(message, {
          ...options,
          requestSignal: exchange.signal,
          onRequestStreamEnd: () => exchange.endOfAnswer(),
        }),
      );
      if (!exchange.streaming) exchange.endOfAnswer();
      await exchange.answered;
    } finally {
      this.exchanges.delete(message.id);
      if (exchange.streaming) this.endSoon(exchange);
    }
  }

  /** Reads the rest of the answer for a short time, so that the connection can be reused. */
  private endSoon(exchange: Exchange): void {
    exchange.giveUp();
    if (this.lingering >= MAX_LINGERING) {
      exchange.abandon();
      return;
    }
    this.lingering++;
    setTimeout(() => {
      this.lingering--;
      exchange.abandon();
    }, STREAM_LINGER_MS).unref();
  }

  private async sendOneWay(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const isAnswer = !('method' in message);
    if (isAnswer && this.activeAnswers >= MAX_ACTIVE_ANSWERS) return;
    if (isAnswer) this.activeAnswers++;
    try {
      const sent = this.http.send(message, { ...options, requestSignal: AbortSignal.timeout(ONE_WAY_TIMEOUT_MS) });
      // The notification cancels the request (legacy era). The upstream can then end the exchange.
      const cancelled = this.exchanges.get(cancelledRequest(message) ?? '');
      if (cancelled !== undefined) this.endSoon(cancelled);
      await sent;
    } finally {
      if (isAnswer) this.activeAnswers--;
    }
  }

  private receive(message: JSONRPCMessage): void {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      this.exchanges.get(message.id ?? '')?.settle();
    }
    // In the answer to a request, it belongs to that request, even if others send requests in the session.
    const exchange = this.current.getStore();
    if (isLog(message) && exchange !== undefined) exchange.onLog?.(message.params ?? {});
    else this.onmessage?.(message);
  }
}

/** One request and its HTTP exchange, including resumptions of its stream. */
class Exchange implements AnswerObserver {
  streaming = false;
  fault?: unknown;
  /** Takes the log messages of the request; absent if nobody wants them. */
  readonly onLog = LOG_OF_CALL.getStore();
  readonly room = ROOM_OF_CALL.getStore();
  /** Aborts the HTTP side. */
  readonly signal: AbortSignal;

  private readonly abort = new AbortController();
  private readonly outcome = Promise.withResolvers<void>();

  constructor(cancelled: AbortSignal | undefined) {
    this.signal = cancelled === undefined ? this.abort.signal : AbortSignal.any([cancelled, this.abort.signal]);
    this.signal.addEventListener('abort', () => this.outcome.reject(this.signal.reason), { once: true });
    // The outcome can be known before it is awaited.
    this.outcome.promise.catch(() => undefined);
  }

  /** Resolves with the answer; rejects when the HTTP side ended without one. */
  get answered(): Promise<void> {
    return this.outcome.promise;
  }

  settle(): void {
    this.outcome.resolve();
  }

  /** Call when no further message can arrive. */
  endOfAnswer(): void {
    this.outcome.reject(this.fault ?? new UpstreamMisbehaviour('ended its answer without a response to the request'));
  }

  /** Call when the answer is no longer needed. */
  giveUp(): void {
    this.outcome.reject(new UpstreamMisbehaviour('did not answer before the request was cancelled'));
  }

  abandon(): void {
    this.abort.abort();
  }
}

function cancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  const id = message.params?.['requestId'];
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

function isLog(message: JSONRPCMessage): message is JSONRPCNotification {
  return isJSONRPCNotification(message) && message.method === 'notifications/message';
}

function resumeLater(resume: () => void, delayMs: number): () => void {
  const bounded = Math.min(Math.max(delayMs, MIN_RESUME_DELAY_MS), MAX_RESUME_DELAY_MS);
  const timer = setTimeout(resume, bounded).unref();
  return () => clearTimeout(timer);
}
