import { UpstreamError } from '../contract/upstream-error.js';
import { FairShare } from './fair-share.js';

/** For whom a socket is opened, and where to. */
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
  /** Requests that wait for a socket, shared among organizations; without any, a request without a socket is refused at once. */
  readonly waiting?: number;
  /** Those of one caller to one connection. */
  readonly waitingPerCaller?: number;
  /** How long they wait, in milliseconds. */
  readonly waitMs?: number;
}

/** Gives the socket back; to be called once. */
export type GiveBack = () => void;

interface Waiter {
  readonly claim: SocketClaim;
  readonly admit: (giveBack: GiveBack) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Decides who may use a socket next. Organizations share the process and each origin, and callers each connection, so that
 * whoever lets requests hang takes nothing away from others. A request that has to wait does so in the line of its caller, for a
 * short time; the lines take turns.
 */
export class SocketPlaces {
  private readonly process: FairShare;
  private readonly origins = new Map<string, FairShare>();
  private readonly connections = new Map<string, FairShare>();
  private readonly waiting: FairShare;
  /** By connection and caller; in the order of their turns. */
  private readonly lines = new Map<string, Waiter[]>();

  constructor(private readonly limits: SocketLimits) {
    this.process = new FairShare(limits.inAll);
    this.waiting = new FairShare(limits.waiting ?? 0);
  }

  /**
   * A promise only when the request has to wait.
   * @param onStop calls back when nobody waits for the request any longer
   * @throws UpstreamError `busy`
   */
  take(claim: SocketClaim, onStop: (callback: () => void) => void): GiveBack | Promise<GiveBack> {
    return this.isOpenTo(claim) ? this.admit(claim) : this.wait(claim, onStop);
  }

  private isOpenTo({ organizationId, connectionId, origin, caller }: SocketClaim): boolean {
    return (
      this.process.isOpenTo(organizationId) &&
      (this.origins.get(origin)?.isOpenTo(organizationId) ?? true) &&
      (this.connections.get(connectionId)?.isOpenTo(caller) ?? true)
    );
  }

  private admit(claim: SocketClaim): GiveBack {
    const { organizationId, connectionId, origin, caller } = claim;
    this.process.take(organizationId);
    takeIn(this.origins, origin, organizationId, this.limits.perOrigin);
    takeIn(this.connections, connectionId, caller, this.limits.perConnection);
    return () => this.giveBack(claim);
  }

  private giveBack({ organizationId, connectionId, origin, caller }: SocketClaim): void {
    this.process.giveBack(organizationId);
    giveBackIn(this.origins, origin, organizationId);
    giveBackIn(this.connections, connectionId, caller);
    if (this.lines.size > 0) this.admitWaiting();
  }

  private async wait(claim: SocketClaim, onStop: (callback: () => void) => void): Promise<GiveBack> {
    const { organizationId } = claim;
    const key = lineOf(claim);
    const { waitingPerCaller = 0, waitMs } = this.limits;
    const line = this.lines.get(key) ?? [];
    if (line.length >= waitingPerCaller || !this.waiting.isOpenTo(organizationId)) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<GiveBack>();
    const timer = setTimeout(() => this.leave(waiter) && reject(busy()), waitMs);
    const waiter: Waiter = { claim, admit: resolve, timer };
    line.push(waiter);
    this.lines.set(key, line);
    this.waiting.take(organizationId);
    onStop(() => this.leave(waiter) && reject(new UpstreamError('cancelled', 'The request was cancelled.')));
    return promise;
  }

  /** Every line whose turn it is gets what it may have, one after the other. */
  private admitWaiting(): void {
    let hasAdmitted = true;
    while (hasAdmitted) {
      hasAdmitted = false;
      // A line that goes on goes to the end, where this round must not meet it again.
      for (const first of Array.from(this.lines.values(), ([waiter]) => waiter)) {
        if (first === undefined || !this.isOpenTo(first.claim)) continue;
        this.leave(first);
        this.toTheEnd(lineOf(first.claim));
        first.admit(this.admit(first.claim));
        hasAdmitted = true;
      }
    }
  }

  private toTheEnd(key: string): void {
    const line = this.lines.get(key);
    if (line === undefined) return;
    this.lines.delete(key);
    this.lines.set(key, line);
  }

  /** False for one that has left before. */
  private leave(waiter: Waiter): boolean {
    const { claim, timer } = waiter;
    const key = lineOf(claim);
    const line = this.lines.get(key);
    const index = line?.indexOf(waiter) ?? -1;
    if (line === undefined || index === -1) return false;
    clearTimeout(timer);
    line.splice(index, 1);
    if (line.length === 0) this.lines.delete(key);
    this.waiting.giveBack(claim.organizationId);
    return true;
  }
}

function lineOf({ connectionId, caller }: SocketClaim): string {
  return `${connectionId} ${caller}`;
}

function takeIn(shares: Map<string, FairShare>, key: string, holder: string, capacity: number): void {
  let share = shares.get(key);
  if (share === undefined) {
    share = new FairShare(capacity);
    shares.set(key, share);
  }
  share.take(holder);
}

function giveBackIn(shares: Map<string, FairShare>, key: string, holder: string): void {
  const share = shares.get(key);
  share?.giveBack(holder);
  if (share?.isUnused === true) shares.delete(key);
}

function busy(): UpstreamError {
  return new UpstreamError('busy', 'The sockets for this upstream are in use; try again in a moment.');
}
