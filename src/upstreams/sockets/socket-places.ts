import { UpstreamError } from '../contract/upstream-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, type Claim, half, Shares } from '../../core/sharing/shares.js';

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
