import type { Dispatcher } from 'undici';
import { UPSTREAM_LIMITS } from '../../net/http-limits.js';
import { type HttpAnswer, HttpAnswerReader } from './http-answer.js';
import type { ExchangeOptions } from '../messages/upstream-channel.js';
import type { HttpTarget } from '../contract/upstream-target.js';
import { Remainders } from './remainders.js';
import { type GiveBack, type SocketClaim, type SocketLimits, SocketPlaces } from './socket-places.js';

const CALL_LIMITS: SocketLimits = {
  inAll: 4_096,
  perOrigin: 512,
  perConnection: 256,
  waiting: 1_024,
  waitingPerCaller: 128,
  waitMs: 5_000,
};
const NEWS_LIMITS: SocketLimits = { inAll: 2_048, perOrigin: 512, perConnection: 256 };

type Waiting = Pick<ExchangeOptions, 'signal' | 'onStop'>;

/** One HTTP request to an upstream. */
export interface UpstreamRequest {
  readonly target: HttpTarget;
  readonly url: URL;
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body: Buffer | string | null;
  /** Whose quota the socket counts for (`keyOfCaller`); undefined for a part of a call that has one already. */
  readonly caller?: string;
  /** Is the answer a stream that lasts for as long as somebody listens? */
  readonly isNews?: boolean;
  /** Is a request that was given up cancelled by a message of its own, so that a closed connection would say nothing? */
  readonly isCancelledByMessage?: boolean;
}

/**
 * All sockets to upstreams that speak HTTP. Streams of news have sockets of their own: however many listen, calls go through.
 * The dispatchers have to have more sockets than are given out here, so that no request waits in their lines, which know no end.
 */
export class UpstreamSockets {
  private readonly remainders = new Remainders();
  private readonly callPlaces: SocketPlaces;
  private readonly newsPlaces: SocketPlaces;

  constructor(
    private readonly calls: Dispatcher,
    private readonly news: Dispatcher = calls,
    limits: { readonly calls?: SocketLimits; readonly news?: SocketLimits } = {},
  ) {
    this.callPlaces = new SocketPlaces(limits.calls ?? CALL_LIMITS);
    this.newsPlaces = new SocketPlaces(limits.news ?? NEWS_LIMITS);
  }

  /** Sends a request and waits for the head of its answer. Rejects as undici does, and with UpstreamError `busy`. */
  exchange(request: UpstreamRequest, options: Waiting): Promise<HttpAnswer> {
    const { target, url, caller, isNews } = request;
    if (caller === undefined) return this.send(request, options);
    const places = isNews === true ? this.newsPlaces : this.callPlaces;
    const taken = places.take(claimOf(target, url.origin, caller), (stop) => onStopOf(options, stop));
    return taken instanceof Promise
      ? taken.then((giveBack) => this.send(request, options, giveBack))
      : this.send(request, options, taken);
  }

  /** Does work that has one socket at a time, of which every request is a part. @throws UpstreamError `busy` */
  async whileTaken<T>(target: HttpTarget, caller: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const claim = claimOf(target, new URL(target.url).origin, caller);
    const giveBack = await this.callPlaces.take(claim, (stop) => onStopOf({ signal }, stop));
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  async destroy(): Promise<void> {
    await Promise.all([this.calls.destroy(), this.news.destroy()]);
  }

  private send(request: UpstreamRequest, options: Waiting, onOver?: GiveBack): Promise<HttpAnswer> {
    const { target, url, method, headers, body, isNews = false, isCancelledByMessage = false } = request;
    const { origin } = url;
    const reader = new HttpAnswerReader(options, {
      // What lasts until nobody listens has no end that could be waited for.
      ...(!isNews && { remain: () => this.remainders.take(origin) }),
      remainsWhenStopped: isCancelledByMessage,
      ...(onOver !== undefined && { onOver }),
    });
    const silenceMs = target.timeoutMs + UPSTREAM_LIMITS.silenceMarginMs;
    (isNews ? this.news : this.calls).dispatch(
      {
        origin,
        path: url.pathname + url.search,
        method,
        headers,
        body,
        headersTimeout: silenceMs,
        // A stream of unsolicited messages may be silent for as long as it likes.
        bodyTimeout: isNews ? 0 : silenceMs,
      },
      reader,
    );
    return reader.answer;
  }
}

function claimOf({ organizationId, connectionId }: HttpTarget, origin: string, caller: string): SocketClaim {
  return { organizationId, connectionId, origin, caller };
}

function onStopOf(options: Waiting, stop: () => void): void {
  if (options.onStop !== undefined) options.onStop(stop);
  else if (options.signal.aborted) stop();
  else options.signal.addEventListener('abort', stop, { once: true });
}
