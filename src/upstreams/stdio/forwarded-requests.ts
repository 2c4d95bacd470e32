import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';
import type { OwnRoom } from '../../core/answers/answer-room.js';
import { half, Shares } from '../../core/sharing/shares.js';
import { SERVICE } from '../contract/callers.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';
import { cancellationOf, metaOf, oneLine, readMessage, withMemberAt } from './child-message.js';
import { StdioExchange } from './stdio-exchange.js';
import type { StdioProcess } from './stdio-process.js';

const LISTEN = 'subscriptions/listen';
const LOG = 'notifications/message';
/** The limit on the subscriptions in one process. A caller can have half of what the others leave. */
const MAX_SUBSCRIPTIONS = 256;

interface Forwarded {
  readonly exchange: StdioExchange;
  /** The caller's progress token, as JSON text. The program knows the id of the request instead. */
  readonly progressToken: string | undefined;
  /** True if its client asked for log messages. */
  readonly takesLog: boolean;
  /** Called once, when it ends for any reason. */
  readonly onDone: () => void;
}

/**
 * The requests of callers that one process of the modern era receives as bytes, next to those of the SDK's client.
 * Their ids are unique in the process. A message of the program goes to the request that it names: an answer by its id,
 * progress by its token, and a notification of a subscription by the id of the subscription. Over stdio, a log message
 * names no request. In a process that callers do not share, it goes to the oldest request whose client asked for it.
 */
export class ForwardedRequests {
  /** By the id as JSON text, in the order of sending. */
  private readonly active = new Map<string, Forwarded>();
  private readonly subscriptions = new Shares(MAX_SUBSCRIPTIONS, [half]);

  /**
   * @param address names the program in messages: "The upstream at <address> …"
   * @param isShared true if several callers send requests to the process
   */
  constructor(
    private readonly process: StdioProcess,
    private readonly address: string,
    private readonly isShared: boolean,
  ) {}

  /**
   * Sends a request. Aborting the signal, or no longer reading the answer, cancels it.
   * @throws UpstreamError
   */
  async send(
    { id = '', body, method }: OutgoingMessage,
    { signal, caller = SERVICE }: ExchangeOptions,
  ): Promise<UpstreamAnswer> {
    if (signal.aborted) throw this.cancelledError();
    const { progressToken, [LOG_LEVEL_META_KEY]: logLevel } = metaOf(body);
    const hasToken = progressToken !== undefined;
    const stopUsing = this.beginUse(method === LISTEN, caller);
    const abandon = (): void => {
      if (!this.remove(id)) return;
      exchange.fail(this.cancelledError());
      this.process.write(cancellationOf(id));
    };
    const openRoom = (): OwnRoom => this.process.openRoom(caller);
    const exchange = new StdioExchange(id, hasToken ? id : undefined, abandon, openRoom);
    signal.addEventListener('abort', abandon, { once: true });
    this.active.set(id, {
      exchange,
      progressToken: hasToken ? JSON.stringify(progressToken) : undefined,
      takesLog: logLevel !== undefined,
      onDone: () => {
        signal.removeEventListener('abort', abandon);
        stopUsing();
      },
    });
    this.process.write(oneLine(hasToken ? withMemberAt(body, ['params', '_meta'], 'progressToken', id) : body));
    return exchange.answer;
  }

  /** Takes a message of the program; returns false if it is for none of these requests. */
  take(line: Buffer): boolean {
    const message = this.active.size === 0 ? undefined : readMessage(line);
    if (message === undefined || message.kind === 'request') return false;
    const { kind, id = '', method, progressToken, subscriptionId } = message;
    if (kind === 'response') return this.takeAnswer(id, line);
    const named = this.active.get(subscriptionId ?? progressToken ?? '');
    const forwarded = named ?? (method === LOG ? this.logReader() : undefined);
    if (forwarded === undefined) return false;
    const isProgress = progressToken !== undefined;
    // The id is no token of a caller who has not asked for progress.
    if (isProgress && forwarded.progressToken === undefined) return false;
    const { progressToken: token = '', exchange } = forwarded;
    exchange.relay(oneLine(isProgress ? withMemberAt(line, ['params'], 'progressToken', token) : line));
    return true;
  }

  /** Takes an answer without reading it; returns false if it answers none of these requests. @param id JSON text */
  takeAnswer(id: string, line: Buffer): boolean {
    const forwarded = this.active.get(id);
    if (forwarded === undefined) return false;
    this.remove(id);
    forwarded.exchange.respond(oneLine(line));
    return true;
  }

  /** Call when the program sends no more messages. Active requests fail. */
  close(error: UpstreamError): void {
    for (const [id, { exchange }] of this.active) {
      this.remove(id);
      exchange.fail(error);
    }
  }

  /**
   * Marks the process as in use; returns a function that ends the use. A program with only subscriptions can be stopped
   * for another one.
   * @throws UpstreamError if the caller has too many subscriptions
   */
  private beginUse(isSubscription: boolean, caller: string): () => void {
    const { process, subscriptions } = this;
    if (!isSubscription) {
      process.enter();
      return () => process.leave();
    }
    const claim = { holder: [caller] };
    if (!subscriptions.tryTake(claim)) {
      throw new UpstreamError('busy', `The caller has too many subscriptions to the upstream at ${this.address}.`);
    }
    process.watch();
    return () => {
      subscriptions.giveBack(claim);
      process.unwatch();
    };
  }

  private logReader(): Forwarded | undefined {
    return this.isShared ? undefined : [...this.active.values()].find(({ takesLog }) => takesLog);
  }

  /** Returns false if it has already ended. */
  private remove(id: string): boolean {
    const forwarded = this.active.get(id);
    this.active.delete(id);
    forwarded?.onDone();
    return forwarded !== undefined;
  }

  private cancelledError(): UpstreamError {
    return new UpstreamError('cancelled', `The request to the upstream at ${this.address} was cancelled.`);
  }
}
