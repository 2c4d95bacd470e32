import type { UpstreamError } from '../contract/upstream-error.js';
import type { ChildMessage } from './child-message.js';
import type { EventStream } from './event-stream.js';
import type { StdioExchange } from './stdio-exchange.js';

/** Messages kept for the next listener, and their bytes; the oldest go first. */
const MAX_BACKLOG = 64;
const MAX_BACKLOG_BYTES = 1024 * 1024;

/** Notifications about the session as a whole. */
const OF_SESSION = /^notifications\/(?:(?:tools|prompts|resources|roots)\/list_changed|resources\/updated)$/;

interface Entry {
  readonly exchange: StdioExchange;
  readonly onDone: () => void;
}

/**
 * Decides where a message from a program goes, because over stdio it does not say so. A response goes to its request, and
 * progress to the request with its token. News of the session goes to the listener. Anything else goes to the request under
 * way if there is one alone; with several to the listener, or without one to the oldest request. What nobody hears waits
 * for the next listener, in a small backlog. A response that nobody waits for is dropped.
 */
export class MessageRouter {
  /** By the request's id as JSON text, in the order in which they were sent. */
  private readonly underway = new Map<string, Entry>();
  private listener: EventStream | undefined;
  private backlog: Buffer[] = [];

  get isListenedTo(): boolean {
    return this.listener !== undefined;
  }

  has(id: string): boolean {
    return this.underway.has(id);
  }

  /** @param onDone called once, when the exchange is over for whatever reason */
  add(exchange: StdioExchange, onDone: () => void): void {
    this.underway.set(exchange.id, { exchange, onDone });
  }

  /** False when it was over already. */
  remove(exchange: StdioExchange): boolean {
    const entry = this.underway.get(exchange.id);
    if (entry?.exchange !== exchange) return false;
    this.underway.delete(exchange.id);
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
    else if (this.listener?.send(line) !== true) this.keep(line);
  }

  /** Nothing more will come: what is under way fails, and the listener's stream ends. */
  close(error: UpstreamError): void {
    for (const { exchange } of this.underway.values()) {
      this.remove(exchange);
      exchange.fail(error);
    }
    this.listener?.finish();
    this.backlog = [];
  }

  private respond(id: string, line: Buffer): void {
    const exchange = this.underway.get(id)?.exchange;
    if (exchange === undefined) return;
    this.remove(exchange);
    exchange.respond(line);
  }

  private exchangeFor({ method = '', progressToken }: ChildMessage): StdioExchange | undefined {
    const exchanges = [...this.underway.values()].map(({ exchange }) => exchange);
    const byToken = progressToken && exchanges.find((exchange) => exchange.progressToken === progressToken);
    if (byToken) return byToken;
    if (OF_SESSION.test(method) || (exchanges.length !== 1 && this.isListenedTo)) return undefined;
    return exchanges[0];
  }

  private keep(line: Buffer): void {
    this.backlog.push(line);
    let bytes = this.backlog.reduce((sum, { length }) => sum + length, 0);
    while (this.backlog.length > MAX_BACKLOG || bytes > MAX_BACKLOG_BYTES) bytes -= this.backlog.shift()?.length ?? 0;
  }
}
