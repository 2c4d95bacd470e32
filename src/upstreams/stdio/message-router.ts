import type { UpstreamError } from '../contract/upstream-error.js';
import type { ChildMessage } from './child-message.js';
import type { EventStream } from '../messages/sse-parts.js';
import type { StdioExchange } from './stdio-exchange.js';

/** Limits on the messages kept for the next listener; the oldest are dropped first. */
const MAX_BACKLOG = 64;
const MAX_BACKLOG_BYTES = 1024 * 1024;

/** Notifications about the session as a whole. */
const SESSION_NOTIFICATION = /^notifications\/(?:(?:tools|prompts|resources|roots)\/list_changed|resources\/updated)$/;

interface Entry {
  readonly exchange: StdioExchange;
  readonly onDone: () => void;
}

/**
 * Routes the messages of a program, which over stdio do not name their destination. A response goes to its request, and
 * progress to the request with its token. Notifications about the session go to the listener. Any other message goes to
 * the active request if there is only one; with several, to the listener, or without a listener to the oldest request.
 * A small backlog keeps undeliverable messages for the next listener. A response without a request is dropped.
 */
export class MessageRouter {
  /** By the request's id as JSON text, in the order of sending. */
  private readonly active = new Map<string, Entry>();
  private listener: EventStream | undefined;
  private backlog: Buffer[] = [];

  get isListenedTo(): boolean {
    return this.listener !== undefined;
  }

  has(id: string): boolean {
    return this.active.has(id);
  }

  /** @param onDone called once, when the exchange ends for any reason */
  add(exchange: StdioExchange, onDone: () => void): void {
    this.active.set(exchange.id, { exchange, onDone });
  }

  /** Returns false if it has already ended. */
  remove(exchange: StdioExchange): boolean {
    const entry = this.active.get(exchange.id);
    if (entry?.exchange !== exchange) return false;
    this.active.delete(exchange.id);
    entry.onDone();
    return true;
  }

  listen(stream: EventStream): void {
    this.listener = stream;
    for (const line of this.backlog.splice(0)) stream.send(line);
  }

  stopListening(stream: EventStream): void {
    if (this.listener === stream) this.listener = undefined;
  }

  /** @param line the message without line breaks */
  route(message: ChildMessage, line: Buffer): void {
    if (message.kind === 'response') return this.respond(message.id ?? '', line);
    const exchange = this.exchangeFor(message);
    if (exchange !== undefined) exchange.relay(line);
    else if (this.listener?.send(line) !== true) this.addToBacklog(line);
  }

  /** Call when the program sends no more messages. Active requests fail, and the listener's stream ends. */
  close(error: UpstreamError): void {
    for (const { exchange } of this.active.values()) {
      this.remove(exchange);
      exchange.fail(error);
    }
    this.listener?.finish();
    this.backlog = [];
  }

  private respond(id: string, line: Buffer): void {
    const exchange = this.active.get(id)?.exchange;
    if (exchange === undefined) return;
    this.remove(exchange);
    exchange.respond(line);
  }

  private exchangeFor({ method = '', progressToken }: ChildMessage): StdioExchange | undefined {
    const exchanges = [...this.active.values()].map(({ exchange }) => exchange);
    const byToken = progressToken && exchanges.find((exchange) => exchange.progressToken === progressToken);
    if (byToken) return byToken;
    if (SESSION_NOTIFICATION.test(method) || (exchanges.length !== 1 && this.isListenedTo)) return undefined;
    return exchanges[0];
  }

  private addToBacklog(line: Buffer): void {
    this.backlog.push(line);
    let bytes = this.backlog.reduce((sum, { length }) => sum + length, 0);
    while (this.backlog.length > MAX_BACKLOG || bytes > MAX_BACKLOG_BYTES) bytes -= this.backlog.shift()?.length ?? 0;
  }
}
