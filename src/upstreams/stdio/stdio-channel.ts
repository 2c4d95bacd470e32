import type { OwnRoom } from '../../core/answers/answer-room.js';
import { messagesIn, EventStream } from '../messages/sse-parts.js';
import type {
  ExchangeOptions,
  OutgoingMessage,
  UpstreamAnswer,
  UpstreamChannel,
} from '../messages/upstream-channel.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import {
  cancellationOf,
  canonicalId,
  oneLine,
  progressTokenOf,
  readMessage,
  type ChildMessage,
} from './child-message.js';
import type { ProgramLog } from './program-log.js';
import { plainAnswer, StdioExchange, streamAnswer } from './stdio-exchange.js';
import type { ProgramHolder } from './program-slots.js';
import { labelOf, type ProcessListener, type StdioProcess } from './stdio-process.js';
import type { StdioProcesses } from './stdio-processes.js';

const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

/**
 * The time limit for the answer to `initialize`, in milliseconds. The first start can include the download of the
 * program by `npx`.
 */
const INITIALIZE_TIMEOUT_MS = 60_000;

/** One MCP session with its own process of a program. Messages are forwarded unchanged, one on each line. */
export class StdioChannel implements UpstreamChannel, ProcessListener {
  private readonly label: string;
  private readonly router = new MessageRouter();
  private process: StdioProcess | undefined;
  private ending: { fault: UpstreamError | undefined } | undefined;

  private constructor(
    private readonly target: StdioTarget,
    private readonly reader: string | undefined,
    private readonly onEnded: () => void,
  ) {
    this.label = labelOf(target);
  }

  /**
   * @param onEnded called when the process has ended and the channel accepts no more messages
   * @throws UpstreamError
   */
  static async open(
    processes: StdioProcesses,
    target: StdioTarget,
    holder: ProgramHolder,
    onEnded: () => void,
  ): Promise<StdioChannel> {
    const channel = new StdioChannel(target, holder.quotaHolder ?? holder.callerId, onEnded);
    channel.process = await processes.start(target, channel, holder);
    return channel;
  }

  /**
   * Sends a message. The first output for a request decides the form of the answer. A request that times out is
   * cancelled.
   */
  async postMessage(message: OutgoingMessage, { signal }: ExchangeOptions): Promise<UpstreamAnswer> {
    const process = this.runningProcess();
    const line = oneLine(message.body);
    if (message.id === undefined) {
      process.write(line);
      return plainAnswer(202);
    }
    const id = canonicalId(message.id);
    if (!isSupportedId(id)) return plainAnswer(400, refusal(id, 'The id of a request must be a string or an integer'));
    if (this.router.has(id)) {
      return plainAnswer(400, refusal(id, 'The session already has an active request with this id'));
    }
    if (signal.aborted) throw this.cancelledError();

    const giveUp = (error: UpstreamError): void => this.giveUp(exchange, error, message.method);
    const onAbort = (): void => giveUp(this.cancelledError());
    const openRoom = (): OwnRoom => process.openRoom(this.reader);
    const exchange = new StdioExchange(id, progressTokenOf(message.body), onAbort, openRoom);
    const isOpening = message.method === 'initialize';
    const timeoutMs = isOpening ? Math.min(INITIALIZE_TIMEOUT_MS, this.target.timeoutMs) : this.target.timeoutMs;
    const timer = setTimeout(() => giveUp(this.timeoutError(timeoutMs)), timeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    process.enter();
    this.router.add(exchange, () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      process.leave();
    });
    process.write(line);
    return exchange.answer;
  }

  /** Allows one stream at a time, like the SDK's server over HTTP. The stream begins with the backlog. */
  async listen({ signal }: ExchangeOptions): Promise<UpstreamAnswer> {
    const process = this.runningProcess();
    if (this.router.isListenedTo) return plainAnswer(409, CONFLICT);
    if (signal.aborted) throw this.cancelledError();
    const stream = new EventStream(() => process.openRoom(this.reader));
    const closeStream = (): void => void stream.destroy();
    signal.addEventListener('abort', closeStream, { once: true });
    stream.on('error', () => undefined);
    stream.once('close', () => {
      signal.removeEventListener('abort', closeStream);
      this.router.stopListening(stream);
      process.unwatch();
    });
    process.watch();
    this.router.listen(stream);
    return streamAnswer(stream);
  }

  /** Ends the program, without waiting for its end. */
  async end(): Promise<UpstreamAnswer> {
    void this.process?.stop();
    return plainAnswer(200);
  }

  /** Initializes a restarted program with the `initialize` that the caller sent when it opened the session. */
  async replay(initialize: OutgoingMessage): Promise<void> {
    const answer = await this.postMessage(initialize, { signal: AbortSignal.timeout(this.target.timeoutMs) });
    let last = '';
    const room = this.runningProcess().openRoom(this.reader);
    try {
      for await (const text of messagesIn(answer, this.target.organizationId, room)) last = text;
    } finally {
      room.leave();
    }
    // An event stream contains further messages, which are irrelevant before the program is initialized.
    if (answer.contentType === 'application/json' && 'error' in (JSON.parse(last) as object)) {
      throw new UpstreamError('protocol', `The upstream at ${this.label} did not resume its session.`);
    }
    this.runningProcess().write(INITIALIZED);
  }

  onLine(line: Buffer, log: ProgramLog): void {
    const message = readMessage(line);
    if (message === undefined) log.strayLine();
    else this.router.route(message, oneLine(line));
  }

  /** Forwards the answer unchanged, like the large answers of an HTTP upstream. */
  onCostlyAnswer(id: string, line: Buffer): void {
    this.router.route({ kind: 'response', id: canonicalId(id) }, line);
  }

  onEnd(fault: UpstreamError | undefined): void {
    this.ending = { fault };
    this.router.close(this.endedError());
    this.onEnded();
  }

  private giveUp(exchange: StdioExchange, error: UpstreamError, method: string | undefined): void {
    if (!this.router.remove(exchange)) return;
    exchange.fail(error);
    if (method !== 'initialize') this.process?.write(cancellationOf(exchange.id));
    // MCP 2025-11-25, cancellation: `initialize` must not be cancelled, so end the program, whose session is not used.
    else if (error.kind === 'timeout') this.process?.fail('unreachable', 'did not answer `initialize` in time');
    else void this.end();
  }

  private runningProcess(): StdioProcess {
    if (this.process === undefined || this.ending !== undefined) throw this.endedError();
    return this.process;
  }

  private endedError(): UpstreamError {
    return this.ending?.fault ?? new UpstreamError('unreachable', `The upstream at ${this.label} was stopped.`);
  }

  private cancelledError(): UpstreamError {
    return new UpstreamError('cancelled', `The request to the upstream at ${this.label} was cancelled.`);
  }

  private timeoutError(timeoutMs: number): UpstreamError {
    const message = `The upstream at ${this.label} did not answer within ${timeoutMs} ms.`;
    return new UpstreamError('timeout', message);
  }
}

/** The answer of the SDK's server to a second GET. */
const CONFLICT = Buffer.from(
  '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Conflict: Only one SSE stream is allowed per ' +
    'session"},"id":null}',
);

/**
 * True if programs accept this id. Those on the SDKs silently drop messages with other ids, and the caller would wait
 * for an answer. Integers beyond 2^53 are not distinguishable from their neighbours.
 */
function isSupportedId(id: string): boolean {
  const value: unknown = JSON.parse(id);
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function refusal(id: string, message: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code: -32600, message })}}`);
}

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
class MessageRouter {
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
    const backlog = this.backlog.splice(0);
    if (backlog.every((line) => stream.send(line))) return;
    // There is no room. The next listener gets all, because this one reads nothing of what it was sent.
    for (const line of backlog) this.addToBacklog(line);
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
