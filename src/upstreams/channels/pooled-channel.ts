import { HttpUpstream } from '../http/http-upstream.js';
import type { ServerDescription } from '../contract/server-description.js';
import type { StateOwner } from '../contract/state-owner.js';
import type { Upstream } from '../contract/upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { BorrowOptions, UpstreamPool } from '../pool/upstream-pool.js';
import type { UpstreamTarget } from '../contract/upstream-target.js';
import { onceRead, discard } from '../messages/answer-body.js';
import { answerThroughClient } from './answer-through-client.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';

const CANCEL_TIMEOUT_MS = 10_000;

/**
 * Sends messages in a session that this process opens and keeps with the upstream, one of the owner or the shared one. Several
 * clients can send requests in it, so their ids must be unique.
 */
export class PooledChannel {
  constructor(
    private readonly target: UpstreamTarget,
    private readonly pool: UpstreamPool,
    private readonly owner?: StateOwner,
  ) {}

  /** @throws UpstreamError */
  async post(message: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer> {
    const lent = this.pool.borrow(this.target, new Borrowing(this.owner, options));
    const loan = lent instanceof Promise ? await lent : lent;
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

  /** Notifies the upstream that the request is cancelled (MCP 2025-11-25, cancellation). Never rejects. */
  async cancel(requestId: string, caller: string): Promise<void> {
    const body = Buffer.from(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${requestId}}}`,
    );
    const message = { body, method: 'notifications/cancelled' };
    await this.post(message, { signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS), caller }).then(
      (answer) => discard(answer.body),
      () => undefined,
    );
  }

  private async postTo(
    upstream: Upstream,
    message: OutgoingMessage,
    options: ExchangeOptions,
  ): Promise<UpstreamAnswer> {
    if (!(upstream instanceof HttpUpstream) || message.asTask === true)
      return answerThroughClient(upstream, message, options);
    const lentSession = upstream.lend(options);
    const { session, channel } = lentSession instanceof Promise ? await lentSession : lentSession;
    // The modern era needs an envelope around each request.
    if (session.isModern) return answerThroughClient(upstream, message, options);
    try {
      return await channel.postMessage(message, options);
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.kind !== 'session_lost') throw error;
      upstream.forget(session);
      const renewed = await upstream.lend(options);
      return renewed.channel.postMessage(message, options);
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
