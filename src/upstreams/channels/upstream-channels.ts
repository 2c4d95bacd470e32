import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { UpstreamSockets } from '../sockets/upstream-sockets.js';
import type { SessionCaller, StateOwner } from '../contract/callers.js';
import type { WantedChanges } from '../contract/list-change.js';
import { StdioSessions } from '../stdio/stdio-sessions.js';
import { StdioUpstream } from '../stdio/stdio-upstream.js';
import { UpstreamPool, type BorrowOptions } from '../pool/upstream-pool.js';
import { UpstreamTargets } from '../pool/upstream-targets.js';
import { HttpUpstream, type LentSession } from '../http/http-upstream.js';
import { HttpChannel } from '../http/http-channel.js';
import {
  answerRequest,
  type ExchangeOptions,
  type OutgoingMessage,
  type UpstreamAnswer,
  type UpstreamChannel,
} from '../messages/upstream-channel.js';
import type { LogLevel } from '../contract/log-level.js';
import type { ServerDescription, Upstream } from '../contract/upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { RequestReceiver, UpstreamRequest } from '../contract/upstream-request.js';
import type { UpstreamTarget } from '../contract/upstream-target.js';
import { onceRead, discard } from '../messages/answer-body.js';
import { answerThroughClient } from './answer-through-client.js';
import { type ChangeReader, UpstreamSubscription } from './upstream-subscription.js';

const ONE_WAY_TIMEOUT_MS = 10_000;
/** How many answers to requests of an upstream are sent at a time; further requests stay unanswered. */
const MAX_ACTIVE_ANSWERS = 16;

/** A request that an upstream sends in its answer to a call. */
export interface AskedRequest extends UpstreamRequest {
  readonly id: string | number;
}

/**
 * Sends messages in a session that this process opens and keeps with the upstream, one of the owner or the shared one.
 * Several clients can send requests in it, so their ids must be unique.
 */
class PooledChannel {
  private answering = 0;
  /** Where the latest request was sent as bytes. What concerns it has no meaning in another session. */
  private calledIn: LentSession | undefined;

  constructor(
    private readonly target: UpstreamTarget,
    private readonly pool: UpstreamPool,
    private readonly owner?: StateOwner,
  ) {}

  /** @throws UpstreamError */
  async postMessage(message: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer> {
    const loan = await this.pool.borrow(this.target, new Borrowing(this.owner, options));
    try {
      const answer = await this.postTo(loan.upstream, message, options);
      // The upstream stays borrowed until the answer has been read.
      onceRead(answer.body, () => loan.giveBack());
      return answer;
    } catch (error) {
      loan.giveBack();
      throw error;
    }
  }

  /** The upstream's description of itself; connects if necessary. @throws UpstreamError */
  serverDescription(signal: AbortSignal): Promise<ServerDescription> {
    return this.pool.use(this.target, (upstream) => upstream.serverDescription(signal), {
      owner: this.owner,
      signal,
    });
  }

  /** Has an upstream of the legacy era log from this level on, for everyone in the session. */
  requireLogLevel(level: LogLevel, { signal, caller }: ExchangeOptions): Promise<void> {
    const options = { signal, ...(caller !== undefined && { caller }) };
    const { owner } = this;
    return this.pool.use(this.target, (upstream) => upstream.requireLogLevel(level, options), { owner, signal });
  }

  /**
   * Subscribes to changes that the upstream reports in the session. Call `open` of it.
   * @param caller see `ExchangeOptions.caller`
   */
  subscription(wanted: WantedChanges, reader: ChangeReader, caller: string): UpstreamSubscription {
    const { pool, target, owner } = this;
    return new UpstreamSubscription((signal) => pool.borrow(target, { owner, signal }), wanted, reader, caller);
  }

  /** Notifies the upstream that the request is cancelled (MCP 2025-11-25, cancellation). Never rejects. */
  cancel(requestId: string, caller: string): Promise<void> {
    const method = 'notifications/cancelled';
    const text = `{"jsonrpc":"2.0","method":"${method}","params":{"requestId":${requestId}}}`;
    return this.postOneWay({ body: Buffer.from(text), method }, caller);
  }

  /**
   * Answers a request that the upstream sends with the answer to a call. A session without capabilities answers `ping`
   * alone; some servers wait for ever if a request is not refused. Never rejects.
   */
  async answerRequest({ id, ...request }: AskedRequest, caller: string, receiver?: RequestReceiver): Promise<void> {
    if (this.answering === MAX_ACTIVE_ANSWERS) return;
    this.answering++;
    const answering = request.method === 'ping' ? Promise.resolve({}) : receiver?.receiveRequest(request);
    await answerRequest(this.calledIn?.channel ?? this, id, answering, caller);
    this.answering--;
  }

  /** Tells those who listen in the session of a change that the answer to a call reports. */
  reportChange(notification: Readonly<Record<string, unknown>>): void {
    this.calledIn?.session.changes.report(notification);
  }

  private async postOneWay(message: OutgoingMessage, caller: string): Promise<void> {
    const channel = this.calledIn?.channel ?? this;
    await channel.postMessage(message, { signal: AbortSignal.timeout(ONE_WAY_TIMEOUT_MS), caller }).then(
      (answer) => discard(answer.body),
      () => undefined,
    );
  }

  private async postTo(
    upstream: Upstream,
    message: OutgoingMessage,
    options: ExchangeOptions,
  ): Promise<UpstreamAnswer> {
    if (message.hasEnvelope === true && upstream instanceof StdioUpstream) return upstream.forward(message, options);
    if (!(upstream instanceof HttpUpstream) || message.asTask === true)
      return answerThroughClient(upstream, message, options);
    const lent = await upstream.lend(options);
    const { session } = lent;
    // The modern era needs an envelope around each request.
    if (session.isModern) return answerThroughClient(upstream, message, options);
    try {
      return await this.postIn(lent, message, options);
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.kind !== 'session_lost') throw error;
      upstream.forget(session);
      return this.postIn(await upstream.lend(options), message, options);
    }
  }

  /** Sends the message as bytes. */
  private async postIn(lent: LentSession, message: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer> {
    const { session, channel } = lent;
    if (message.id !== undefined) this.calledIn = lent;
    const { receiver } = options;
    if (receiver === undefined) return channel.postMessage(message, options);
    const stop = session.requests.passTo(receiver);
    try {
      const answer = await channel.postMessage(message, options);
      onceRead(answer.body, stop);
      return answer;
    } catch (error) {
      stop();
      throw error;
    }
  }
}

/** Reads the signal, which is created on access, only if it is needed. */
class Borrowing implements BorrowOptions {
  constructor(
    readonly owner: StateOwner | undefined,
    private readonly exchange: ExchangeOptions,
  ) {}

  get signal(): AbortSignal {
    return this.exchange.signal;
  }
}

export interface SessionAtUpstream {
  /** Unique; identifies the session in this process. */
  readonly key: string;
  /** The upstream's session id, if it assigned one. */
  readonly upstreamId?: string | undefined;
  /** Whose share a program counts towards; absent for a caller without a credential. */
  readonly caller?: SessionCaller | undefined;
  /** The request that opened the session, which is repeated to a restarted process. */
  readonly initialize?: OutgoingMessage | undefined;
}

/** Opens channels that send messages to an upstream as bytes, with the stored credentials. */
@Injectable()
export class UpstreamChannels {
  constructor(
    private readonly targets: UpstreamTargets,
    private readonly pool: UpstreamPool,
    private readonly sockets: UpstreamSockets,
    private readonly stdio: StdioSessions,
  ) {}

  /**
   * In a session that this process opens on its own.
   * @param owner who has a session of its own with an upstream that has state; absent: the shared one is used
   * @throws DomainError `connection_unavailable`
   */
  pooled(connection: Connection, owner?: StateOwner): PooledChannel {
    return new PooledChannel(this.targets.targetFor(connection), this.pool, owner);
  }

  /** Ends the sessions that this process has opened for an owner, with their calls. */
  endOwned(ownerKey: string): void {
    this.pool.endOwned(ownerKey);
  }

  /**
   * For one session of a caller, to open it or to continue it.
   * @throws DomainError `connection_unavailable`, UpstreamError if a process cannot be started
   */
  async session(connection: Connection, session: SessionAtUpstream): Promise<UpstreamChannel> {
    const target = this.targets.targetFor(connection);
    if (target.kind === 'stdio') return this.stdio.channel(session, target);
    if (target.kind === 'custom')
      throw new Error('Only the service opens sessions with such an upstream (`hasOwnSessions`).');
    return new HttpChannel(target, this.sockets, { id: session.upstreamId });
  }
}
