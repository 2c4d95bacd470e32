import { UpstreamError } from '../contract/upstream-error.js';
import { FairShare } from './fair-share.js';

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

interface Waiter {
  readonly claim: SocketClaim;
  readonly admit: (giveBack: GiveBack) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Assigns sockets to requests. Organizations share the process and each origin, and callers share each connection, so
 * that hanging requests of one do not block others. A request that has to wait is queued for its caller, for a short
 * time; the queues take turns.
 */
export class SocketPlaces {
  private readonly process: FairShare;
  private readonly origins = new Map<string, FairShare>();
  private readonly connections = new Map<string, FairShare>();
  private readonly waiting: FairShare;
  /** By connection and caller; in the order of their turns. */
  private readonly queues = new Map<string, Waiter[]>();

  constructor(private readonly limits: SocketLimits) {
    this.process = new FairShare(limits.inAll);
    this.waiting = new FairShare(limits.waiting ?? 0);
  }

  /**
   * Returns a promise only if the request has to wait.
   * @param onStop calls back when the request is aborted
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
    if (this.queues.size > 0) this.admitWaiting();
  }

  private async wait(claim: SocketClaim, onStop: (callback: () => void) => void): Promise<GiveBack> {
    const { organizationId } = claim;
    const key = queueKeyOf(claim);
    const { waitingPerCaller = 0, waitMs } = this.limits;
    const queue = this.queues.get(key) ?? [];
    if (queue.length >= waitingPerCaller || !this.waiting.isOpenTo(organizationId)) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<GiveBack>();
    const timer = setTimeout(() => this.removeWaiter(waiter) && reject(busy()), waitMs);
    const waiter: Waiter = { claim, admit: resolve, timer };
    queue.push(waiter);
    this.queues.set(key, queue);
    this.waiting.take(organizationId);
    onStop(() => this.removeWaiter(waiter) && reject(new UpstreamError('cancelled', 'The request was cancelled.')));
    return promise;
  }

  /** Admits waiting requests, one from each queue in turn, as long as sockets are free. */
  private admitWaiting(): void {
    let hasAdmitted = true;
    while (hasAdmitted) {
      hasAdmitted = false;
      // A served queue moves to the end; the copy keeps this round from serving it again.
      for (const first of Array.from(this.queues.values(), ([waiter]) => waiter)) {
        if (first === undefined || !this.isOpenTo(first.claim)) continue;
        this.removeWaiter(first);
        this.moveToEnd(queueKeyOf(first.claim));
        first.admit(this.admit(first.claim));
        hasAdmitted = true;
      }
    }
  }

  private moveToEnd(key: string): void {
    const queue = this.queues.get(key);
    if (queue === undefined) return;
    this.queues.delete(key);
    this.queues.set(key, queue);
  }

  /** Returns false if the waiter was already removed. */
  private removeWaiter(waiter: Waiter): boolean {
    const { claim, timer } = waiter;
    const key = queueKeyOf(claim);
    const queue = this.queues.get(key);
    const index = queue?.indexOf(waiter) ?? -1;
    if (queue === undefined || index === -1) return false;
    clearTimeout(timer);
    queue.splice(index, 1);
    if (queue.length === 0) this.queues.delete(key);
    this.waiting.giveBack(claim.organizationId);
    return true;
  }
}

function queueKeyOf({ connectionId, caller }: SocketClaim): string {
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
  return new UpstreamError('busy', 'All sockets for this upstream are in use. Try again in a moment.');
}
