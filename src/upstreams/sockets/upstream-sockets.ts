import type { Dispatcher } from 'undici';
import { half, Shares, atMost, type Claim } from '../../core/sharing/shares.js';
import { UPSTREAM_LIMITS } from '../../platform/net/http-limits.js';
import { type HttpAnswer, HttpAnswerReader } from './http-answer.js';
import type { ExchangeOptions } from '../messages/upstream-channel.js';
import { discard } from '../messages/answer-body.js';
import type { AccountAccess } from '../../connections/upstream-oauth/tokens/upstream-accounts.js';
import type { HttpTarget } from '../contract/upstream-target.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';

/** The caller and the target of a socket. */
export interface SocketClaim {
  readonly organizationId: string;
  readonly connectionId: string;
  readonly origin: string;
  /** See `keyOfCaller`. */
  readonly caller: string;
}

export interface SocketLimits {
  /** Sockets of this process, shared among organizations. */
  readonly inAll: number;
  /** Sockets to one origin, shared among organizations. */
  readonly perOrigin: number;
  /** Sockets of one connection, shared among callers. */
  readonly perConnection: number;
  /**
   * Requests that wait for a socket, shared among organizations; by default none, so that a request without a socket is
   * refused.
   */
  readonly waiting?: number;
  /** Waiting requests of one caller to one connection. */
  readonly waitingPerCaller?: number;
  /** How long they wait, in milliseconds. */
  readonly waitMs?: number;
}

/** Returns the socket. Call exactly once. */
export type GiveBack = () => void;

/**
 * Assigns sockets to requests. Organizations share the process and each origin, and callers share each connection, so
 * that hanging requests of one do not block others. A request that has to wait is queued for its caller, for a short
 * time; the queues take turns.
 */
export class SocketPlaces {
  private readonly sockets: FairShare;
  private readonly origins: Shares;

  constructor({ inAll, perOrigin, perConnection, waiting = 0, waitingPerCaller = 0, waitMs = 0 }: SocketLimits) {
    this.sockets = new FairShare({
      capacity: inAll,
      limits: [half, atMost(perConnection), half],
      places: new Shares(waiting, [half, atMost(waiting), atMost(waitingPerCaller)]),
      waitMs,
      refusal: () => new UpstreamError('busy', 'All sockets for this upstream are in use. Try again in a moment.'),
    });
    this.origins = new Shares(Infinity, [atMost(perOrigin), half]);
  }

  /**
   * Returns a promise only if the request has to wait.
   * @param onStop calls back when the request is aborted
   * @throws UpstreamError `busy`
   */
  take(
    { organizationId, connectionId, origin, caller }: SocketClaim,
    onStop: (callback: () => void) => void,
  ): GiveBack | Promise<GiveBack> {
    const socket: Claim = {
      holder: [organizationId, connectionId, caller],
      also: { of: this.origins, holder: [origin, organizationId] },
    };
    const giveBack = (): void => this.sockets.giveBack(socket);
    return this.sockets.tryTake(socket) ? giveBack : this.wait(socket, onStop).then(() => giveBack);
  }

  private async wait(socket: Claim, onStop: (callback: () => void) => void): Promise<void> {
    const stopped = new AbortController();
    onStop(() => stopped.abort(new UpstreamError('cancelled', 'The request was cancelled.')));
    await this.sockets.take(socket, stopped.signal);
  }
}

const CALL_LIMITS: SocketLimits = {
  inAll: 4_096,
  perOrigin: 512,
  perConnection: 256,
  waiting: 1_024,
  waitingPerCaller: 128,
  waitMs: 5_000,
};
const NOTIFICATION_LIMITS: SocketLimits = { inAll: 2_048, perOrigin: 512, perConnection: 256 };

/** How many answers are drained at a time, so that their connections can be reused. */
const MAX_REMAINDERS = 512;

/** The parameters of a challenge (RFC 6750 §3). */
const INSUFFICIENT_SCOPE = /[\s,]error="?insufficient_scope\b/;
const SCOPE = /[\s,]scope="([^"]+)"/;

type AbortOptions = Pick<ExchangeOptions, 'signal' | 'onStop'>;

/** One HTTP request to an upstream. */
interface SocketRequest {
  readonly target: HttpTarget;
  readonly url: URL;
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body: Buffer | string | null;
  /**
   * The key of the quota that the socket counts towards (`keyOfCaller`); undefined for part of a call that has a socket
   * already.
   */
  readonly caller?: string;
  /** True if the answer is a stream of notifications without an end. */
  readonly isNotificationStream?: boolean;
  /** True if the answer can be silent for any time: by default a notification stream. */
  readonly mayBeSilent?: boolean;
  /** True if an aborted request is cancelled by a notification, so that closing the connection has no meaning. */
  readonly isCancelledByMessage?: boolean;
}

/**
 * All sockets to HTTP upstreams. Notification streams have their own sockets, so that they do not block calls. The
 * dispatchers must have more sockets than are assigned here, so that no request waits in their unbounded queues.
 */
export class UpstreamSockets {
  /** By origin: one that never ends its answers gets only its share. Beyond it, connections are closed. */
  private readonly remainders = new Shares(MAX_REMAINDERS, [half]);
  private readonly callPlaces = new SocketPlaces(CALL_LIMITS);
  private readonly notificationPlaces = new SocketPlaces(NOTIFICATION_LIMITS);

  constructor(
    private readonly calls: Dispatcher,
    private readonly notifications: Dispatcher = calls,
  ) {}

  /**
   * Sends a request, with an access token if the upstream demands OAuth, and waits for the head of its answer.
   * @throws undici's errors, UpstreamError `busy`, DomainError `upstream_authorization_required`
   */
  exchange(request: SocketRequest, options: AbortOptions): Promise<HttpAnswer> {
    const { account } = request.target;
    return account === undefined ? this.exchangeOnce(request, options) : this.exchangeAs(account, request, options);
  }

  /** Does work whose requests use one socket, one after the other. @throws UpstreamError `busy` */
  async withSocket<T>(target: HttpTarget, caller: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const claim = claimOf(target, new URL(target.url).origin, caller);
    const giveBack = await this.callPlaces.take(claim, (stop) => onStopOf({ signal }, stop));
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  async destroy(): Promise<void> {
    await Promise.all([this.calls.destroy(), this.notifications.destroy()]);
  }

  /**
   * A 401 says that the upstream did not take the request (RFC 6750 §3.1), so it is sent once more with another token.
   * A 403 can demand more scopes (MCP 2025-11-25, "Step-Up Authorization Flow"), which a person has to grant.
   */
  private async exchangeAs(account: AccountAccess, request: SocketRequest, options: AbortOptions): Promise<HttpAnswer> {
    const token = await account.token();
    const answer = await this.exchangeOnce(withToken(request, token), options);
    if (answer.status !== 401) return answer.status === 403 ? stepUp(account, answer) : answer;
    discard(answer.body);
    const renewed = await account.renew(token);
    const second = await this.exchangeOnce(withToken(request, renewed), options);
    if (second.status !== 401) return second.status === 403 ? stepUp(account, second) : second;
    discard(second.body);
    throw account.refused(renewed);
  }

  private async exchangeOnce(request: SocketRequest, options: AbortOptions): Promise<HttpAnswer> {
    const { target, url, caller, isNotificationStream } = request;
    if (caller === undefined) return this.send(request, options);
    const places = isNotificationStream === true ? this.notificationPlaces : this.callPlaces;
    const giveBack = await places.take(claimOf(target, url.origin, caller), (stop) => onStopOf(options, stop));
    return this.send(request, options, giveBack);
  }

  private send(request: SocketRequest, options: AbortOptions, onOver?: GiveBack): Promise<HttpAnswer> {
    const {
      target,
      url,
      method,
      headers,
      body,
      isNotificationStream = false,
      mayBeSilent = isNotificationStream,
    } = request;
    const { isCancelledByMessage = false } = request;
    const { origin } = url;
    const reader = new HttpAnswerReader(options, {
      // A notification stream does not end, so it cannot be drained.
      ...(!isNotificationStream && { takeDrainPlace: () => this.takeDrainPlace(origin) }),
      drainWhenStopped: isCancelledByMessage,
      ...(onOver !== undefined && { onOver }),
    });
    const silenceMs = target.timeoutMs + UPSTREAM_LIMITS.silenceMarginMs;
    (isNotificationStream ? this.notifications : this.calls).dispatch(
      {
        origin,
        path: url.pathname + url.search,
        method,
        headers,
        body,
        // A call whose client is asked has a time limit of its own.
        headersTimeout: mayBeSilent && !isNotificationStream ? 0 : silenceMs,
        bodyTimeout: mayBeSilent ? 0 : silenceMs,
      },
      reader,
    );
    return reader.answer;
  }

  private takeDrainPlace(origin: string): (() => void) | undefined {
    const place = { holder: [origin] };
    return this.remainders.tryTake(place) ? () => this.remainders.giveBack(place) : undefined;
  }
}

function claimOf({ organizationId, connectionId }: HttpTarget, origin: string, caller: string): SocketClaim {
  return { organizationId, connectionId, origin, caller };
}

function onStopOf(options: AbortOptions, stop: () => void): void {
  if (options.onStop !== undefined) options.onStop(stop);
  else if (options.signal.aborted) stop();
  else options.signal.addEventListener('abort', stop, { once: true });
}

/** Returns the answer unless a person can grant what it demands. */
async function stepUp(account: AccountAccess, answer: HttpAnswer): Promise<HttpAnswer> {
  const challenge = String(answer.headers['www-authenticate']);
  const [, scope] = SCOPE.exec(challenge) ?? [];
  if (scope === undefined || !INSUFFICIENT_SCOPE.test(challenge)) return answer;
  const required = await account.demandScope(scope);
  if (required === undefined) return answer;
  discard(answer.body);
  throw required;
}

function withToken(request: SocketRequest, token: string): SocketRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
