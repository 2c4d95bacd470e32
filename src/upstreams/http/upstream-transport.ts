import { AsyncLocalStorage } from 'node:async_hooks';
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { SessionTransport } from '../contract/session-transport.js';
import type { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { UpstreamMisbehaviour } from '../contract/upstream-error.js';
import { createUpstreamFetch, type AnswerObserver } from './upstream-fetch.js';
import type { HttpTarget } from '../contract/upstream-target.js';

/** Time for a message that nobody waits for: a notification, or our answer to a request of the upstream. */
const ONE_WAY_TIMEOUT_MS = 10_000;
/** An event stream should end after its response; one that does not is closed after this time. */
const STREAM_LINGER_MS = 1_000;
/** Exchanges at once that are given that time; further ones are closed at once. */
const MAX_LINGERING = 64;
/** Answers on their way to the upstream at once; further requests of an upstream that floods us stay unanswered. */
const MAX_ANSWERS_UNDER_WAY = 16;
/** Bounds for the pause that an upstream asks for before an interrupted stream is resumed. */
const MIN_RESUME_DELAY_MS = 100;
const MAX_RESUME_DELAY_MS = 30_000;

/**
 * The SDK's streamable HTTP transport, made safe against an upstream that misbehaves: `send` of a request settles when its
 * answer is in or can no longer come, its HTTP exchange ends when the protocol layer gives up on it, in both eras, and
 * nothing that the upstream sends makes us work without bound.
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
  /** Tells the fetch function, which sees only bytes, which exchange it works for. */
  private readonly current = new AsyncLocalStorage<Exchange>();
  private answersUnderWay = 0;
  private lingering = 0;

  constructor(target: HttpTarget, sockets: UpstreamSockets) {
    this.http = new StreamableHTTPClientTransport(new URL(target.url), {
      fetch: createUpstreamFetch(target, sockets, () => this.current.getStore()),
      redirectPolicy: 'same-origin',
      reconnectionScheduler: resumeLater,
    });
    // oxlint-disable unicorn/prefer-add-event-listener -- a transport of the SDK has callbacks, not events
    this.http.onclose = () => this.onclose?.();
    this.http.onerror = (error) => this.onerror?.(error);
    this.http.onmessage = (message) => this.receive(message);
    // oxlint-enable unicorn/prefer-add-event-listener
  }

  /** The session that the upstream opened at `initialize`; undefined when it keeps none. */
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

  /** Tells the upstream that its session is over (DELETE); rejects when it does not take it. */
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

  /** Reads the rest of what nobody wants any more, so that the connection can be used again, for a short time. */
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
    if (isAnswer && this.answersUnderWay >= MAX_ANSWERS_UNDER_WAY) return;
    if (isAnswer) this.answersUnderWay++;
    try {
      const sent = this.http.send(message, { ...options, requestSignal: AbortSignal.timeout(ONE_WAY_TIMEOUT_MS) });
      // The notification is the cancellation (legacy era). Its upstream may end the exchange by itself then.
      const cancelled = this.exchanges.get(cancelledRequest(message) ?? '');
      if (cancelled !== undefined) this.endSoon(cancelled);
      await sent;
    } finally {
      if (isAnswer) this.answersUnderWay--;
    }
  }

  private receive(message: JSONRPCMessage): void {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      this.exchanges.get(message.id ?? '')?.settle();
    }
    this.onmessage?.(message);
  }
}

/** One request and the HTTP exchange that carries it, resumptions of its stream included. */
class Exchange implements AnswerObserver {
  streaming = false;
  fault?: unknown;
  /** Aborts the HTTP side. */
  readonly signal: AbortSignal;

  private readonly abort = new AbortController();
  private readonly outcome = Promise.withResolvers<void>();

  constructor(givenUp: AbortSignal | undefined) {
    this.signal = givenUp === undefined ? this.abort.signal : AbortSignal.any([givenUp, this.abort.signal]);
    this.signal.addEventListener('abort', () => this.outcome.reject(this.signal.reason), { once: true });
    // The outcome may be known before anyone waits for it.
    this.outcome.promise.catch(() => undefined);
  }

  /** Resolves with the answer; rejects when the HTTP side ended without one. */
  get answered(): Promise<void> {
    return this.outcome.promise;
  }

  settle(): void {
    this.outcome.resolve();
  }

  /** No further message can arrive. */
  endOfAnswer(): void {
    this.outcome.reject(this.fault ?? new UpstreamMisbehaviour('ended its answer without a response to the request'));
  }

  /** Nobody waits for it any longer. */
  giveUp(): void {
    this.outcome.reject(new UpstreamMisbehaviour('was not waited for any longer'));
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

function resumeLater(resume: () => void, delayMs: number): () => void {
  const bounded = Math.min(Math.max(delayMs, MIN_RESUME_DELAY_MS), MAX_RESUME_DELAY_MS);
  const timer = setTimeout(resume, bounded).unref();
  return () => clearTimeout(timer);
}
