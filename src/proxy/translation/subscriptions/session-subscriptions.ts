import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { RESOURCE_UPDATED } from '../../../upstreams/contract/list-change.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../../forwarding/session/session-streams.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { ChangeSubscriptions } from './change-subscriptions.js';
import { type SubscribedPlace, WatchedResources } from './watched-resources.js';

/** How long the subscriptions of a client that does not listen are kept. */
const KEPT_MS = 10 * 60_000;

interface SubscribedSession {
  /** As it was when it last subscribed or began to listen. */
  caller: ProxyCaller;
  /** By connection. */
  readonly watched: Map<string, WatchedResources>;
  /** How many streams the client has open. */
  streams: number;
  /** Ends the subscriptions. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Finds where to subscribe for a caller of the connection or the agent; undefined if it is not permitted to use the
 * resources any more.
 */
export type FindPlace = (caller: ProxyCaller) => Promise<SubscribedPlace | undefined>;

/** A client in its session with this service. */
interface SessionCaller {
  readonly session: Session;
  readonly caller: ProxyCaller;
}

/** A resource of a connection, as a client knows it in its session with this service. */
interface SubscribedResource {
  readonly connectionId: string;
  /** The upstream's own address. */
  readonly own: string;
  /** The client's. */
  readonly address: string;
  readonly find: FindPlace;
}

/**
 * The resources to which clients have subscribed in their sessions with this service, up to 2025-11-25, where the
 * upstream does not know the session. This process keeps them for ten minutes after the client has last listened.
 */
@Injectable()
export class SessionSubscriptions implements BeforeApplicationShutdown {
  /** By the key of the session. */
  private readonly sessions = new Map<string, SubscribedSession>();

  constructor(
    private readonly subscriptions: ChangeSubscriptions,
    private readonly streams: SessionStreams,
  ) {}

  /**
   * Resolves with false if the upstream does not accept the subscription.
   * @throws DomainError `permission_denied`, `connection_unavailable`; UpstreamError
   */
  async subscribe(
    { session, caller }: SessionCaller,
    resource: SubscribedResource,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { connectionId, own, address, find } = resource;
    const subscribed = this.sessionOf(session, caller);
    const watched =
      subscribed.watched.get(connectionId) ??
      new WatchedResources(
        this.subscriptions,
        () => find(subscribed.caller),
        (uri) => this.streams.send(session, { method: RESOURCE_UPDATED, params: { uri } }),
      );
    subscribed.watched.set(connectionId, watched);
    if (subscribed.streams > 0) watched.listen();
    else this.endLater(session, subscribed);
    try {
      return (await watched.add(new Map([[own, address]]), signal)).includes(own);
    } finally {
      this.forget(session, subscribed, connectionId);
    }
  }

  /** Never rejects. @param address the client's */
  async unsubscribe(session: Session, address: string): Promise<void> {
    const subscribed = this.sessions.get(session.key);
    if (subscribed === undefined) return;
    for (const [connectionId, watched] of subscribed.watched) {
      await watched.remove(address);
      this.forget(session, subscribed, connectionId);
    }
  }

  /** Call when the client opens a stream; returns a function to call when it is closed. */
  listen({ session, caller }: SessionCaller): () => void {
    const subscribed = this.sessionOf(session, caller);
    clearTimeout(subscribed.timer);
    if (subscribed.streams++ === 0) for (const watched of subscribed.watched.values()) watched.listen();
    return () => {
      if (--subscribed.streams > 0) return;
      for (const watched of subscribed.watched.values()) watched.pause();
      if (subscribed.watched.size > 0) this.endLater(session, subscribed);
      else this.end(session, subscribed);
    };
  }

  /** Call when the client has ended the session. */
  endSession(session: Session): void {
    const subscribed = this.sessions.get(session.key);
    if (subscribed !== undefined) this.end(session, subscribed);
  }

  beforeApplicationShutdown(): void {
    for (const { watched, timer } of this.sessions.values()) {
      clearTimeout(timer);
      for (const one of watched.values()) one.end();
    }
  }

  private sessionOf({ key }: Session, caller: ProxyCaller): SubscribedSession {
    const known = this.sessions.get(key);
    if (known !== undefined) {
      known.caller = caller;
      return known;
    }
    const created: SubscribedSession = { caller, watched: new Map(), streams: 0, timer: undefined };
    this.sessions.set(key, created);
    return created;
  }

  private endLater(session: Session, subscribed: SubscribedSession): void {
    clearTimeout(subscribed.timer);
    subscribed.timer = setTimeout(() => this.end(session, subscribed), KEPT_MS).unref();
  }

  private end({ key }: Session, subscribed: SubscribedSession): void {
    clearTimeout(subscribed.timer);
    for (const watched of subscribed.watched.values()) watched.end();
    subscribed.watched.clear();
    if (this.sessions.get(key) === subscribed) this.sessions.delete(key);
  }

  /** Keeps nothing of a connection of which nothing is subscribed to. */
  private forget(session: Session, subscribed: SubscribedSession, connectionId: string): void {
    const watched = subscribed.watched.get(connectionId);
    if (watched?.isIdle !== true) return;
    watched.end();
    subscribed.watched.delete(connectionId);
    if (subscribed.watched.size === 0 && subscribed.streams === 0) this.end(session, subscribed);
  }
}
