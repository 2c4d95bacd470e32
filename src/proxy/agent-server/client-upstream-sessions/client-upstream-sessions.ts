import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { OpenCredentials } from '../../../identity/credentials/open-credentials.js';
import { withTimeout } from '../../../core/with-timeout.js';
import { AppConfig } from '../../../core/config/app-config.js';
import type { Connection } from '../../../connections/connection.js';
import { OpenConnections } from '../../../connections/open-connections.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { type Session, unknownSession } from '../../forwarding/session/sealed-sessions.js';
import { SessionTools } from '../../forwarding/session/session-tools.js';
import { type ClientUpstreamSession, PATIENCE_MS, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessionOpener } from './client-upstream-session-opener.js';
import { type Owned, OwnedSessions, type SessionEntry } from './owned-sessions.js';

/** How many callers' sessions are kept, and how many upstream sessions for each. */
const MAX_OWNERS = 1_000;
const MAX_UPSTREAM_SESSIONS = 100;
const MAX_ENDED = 10_000;
const LONGEST_SWEEP_MS = 60_000;
const OPEN_TIMEOUT_MS = 10_000;
/** How long after a failed attempt the next one is made. */
const RETRY_AFTER_MS = 60_000;

/**
 * The client-upstream sessions: each was opened with a connection of an agent in the name of one caller, so that the
 * upstream can send requests to that caller. A session is opened when first needed and kept in this process; another
 * process opens its own for the same caller.
 */
@Injectable()
export class ClientUpstreamSessions implements OnApplicationShutdown {
  private readonly owners = new OwnedSessions(MAX_OWNERS);
  private readonly ended = new Set<string>();
  private readonly endListeners: ((key: string) => void)[] = [];
  private readonly idleMs: number;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly opener: ClientUpstreamSessionOpener,
    private readonly tools: SessionTools,
    private readonly credentials: OpenCredentials,
    private readonly connections: OpenConnections,
    { settings }: AppConfig,
  ) {
    this.idleMs = settings.gatewaySessionIdleMs;
    this.timer = setInterval(() => this.endIdle(), Math.min(LONGEST_SWEEP_MS, this.idleMs / 4)).unref();
  }

  /**
   * The session with this connection; undefined if the upstream does not open one, so that the shared session is used.
   */
  async sessionWith(owner: SessionOwner, connection: Connection): Promise<ClientUpstreamSession | undefined> {
    // A program would need another process for every caller.
    if (connection.type !== 'HTTP' || this.ended.has(owner.session.key)) return undefined;
    const owned = this.use(owner);
    const existing = owned.sessions.get(connection.id);
    if (existing !== undefined && !isOutdated(existing, connection)) return openedInTime(existing);
    if (existing === undefined && owned.sessions.size >= MAX_UPSTREAM_SESSIONS) return undefined;
    if (existing !== undefined) void this.close(existing);
    const entry: SessionEntry = { revision: connection.revision, opened: this.open(owner, connection, owned) };
    owned.sessions.set(connection.id, entry);
    entry.unwatch = this.connections.watchConnection(connection, () => {
      if (owned.sessions.get(connection.id) === entry) owned.sessions.delete(connection.id);
      void this.close(entry);
    });
    void settle(entry);
    return openedInTime(entry);
  }

  /**
   * Opens another session when the upstream no longer knows this one.
   * @throws UpstreamError if the upstream does not open one
   */
  async renew(owner: SessionOwner, stale: ClientUpstreamSession): Promise<ClientUpstreamSession> {
    const { sessions } = this.use(owner);
    const existing = sessions.get(stale.connection.id);
    // Another request may have renewed it.
    if (existing !== undefined && (await existing.opened) === stale) {
      sessions.delete(stale.connection.id);
      this.tools.forget(stale.session.key);
    }
    const renewed = await this.sessionWith(owner, stale.connection);
    // Not `session_lost`: the caller's session with the agent stays valid.
    if (renewed === undefined) throw new UpstreamError('unreachable', 'The upstream no longer opens a session.');
    return renewed;
  }

  /** The open sessions of the owner. */
  async opened({ session }: SessionOwner): Promise<ClientUpstreamSession[]> {
    const entries = [...(this.owners.get(session.key)?.sessions.values() ?? [])];
    return (await Promise.all(entries.map(({ opened }) => opened))).filter((session) => session !== undefined);
  }

  /** Sets the log level for sessions that are opened from now on. */
  setLevel(owner: SessionOwner, level: string): void {
    this.use(owner).level = level;
  }

  /** Aborted when the caller ends its session or the session is evicted. */
  endOf(owner: SessionOwner): AbortSignal {
    return this.use(owner).ending.signal;
  }

  /** Calls the listener with the key of every caller's session that ends, is idle, or is evicted. */
  onEnd(listener: (key: string) => void): void {
    this.endListeners.push(listener);
  }

  /** Keeps the sessions while a stream or a call is active. Returns a function that releases them. */
  hold(owner: SessionOwner): () => void {
    const owned = this.use(owner);
    owned.held++;
    return () => {
      owned.held--;
      owned.usedAt = Date.now();
    };
  }

  /** Ends the caller's session. Other processes are not notified; they drop their part when it is idle. */
  endSessions(key: string): void {
    this.ended.add(key);
    const [oldest = key] = this.ended;
    if (this.ended.size > MAX_ENDED) this.ended.delete(oldest);
    void this.drop(key);
  }

  /**
   * The caller as an owner of client-upstream sessions; undefined for a client that does not answer requests, and for
   * callers without a credential, because a session for each of them would cost too much.
   * @throws DomainError `session_not_found` for a session that was ended in this process
   */
  ownerOf(caller: ProxyCaller, session: Session): SessionOwner | undefined {
    const { key, initialize } = session;
    if (this.ended.has(key)) throw unknownSession();
    if (initialize === undefined || caller.principal === undefined) return undefined;
    return { principal: caller.principal, caller, session: { ...session, initialize } };
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.owners.entries.map(([key]) => this.drop(key)));
  }

  private use({ principal, session }: SessionOwner): Owned {
    const holder = { organizationId: principal.organization.id, callerId: principal.callerId };
    const owned = this.owners.use(session.key, holder);
    owned.unwatch ??= this.credentials.watchValidity(principal, () => void this.drop(session.key));
    const surplus = this.owners.findSurplus(session.key);
    if (surplus !== undefined) void this.drop(surplus);
    return owned;
  }

  private async open(
    owner: SessionOwner,
    connection: Connection,
    owned: Owned,
  ): Promise<ClientUpstreamSession | undefined> {
    try {
      const signal = AbortSignal.timeout(OPEN_TIMEOUT_MS);
      return await this.opener.openSession(connection, owner.session.initialize, owned.level, signal);
    } catch {
      // The caller gets the upstream's error, if there is one, in the shared session.
      return undefined;
    }
  }

  private endIdle(): void {
    for (const [key, { held, usedAt }] of this.owners.entries) {
      if (held === 0 && Date.now() - usedAt > this.idleMs) void this.drop(key);
    }
  }

  private async drop(key: string): Promise<void> {
    for (const listener of this.endListeners) listener(key);
    const owned = this.owners.get(key);
    if (owned === undefined) return;
    this.owners.delete(key);
    owned.unwatch?.();
    owned.ending.abort();
    const entries = [...owned.sessions.values()];
    await Promise.all(entries.map((entry) => this.close(entry)));
  }

  private async close({ opened, unwatch }: SessionEntry): Promise<void> {
    unwatch?.();
    const upstreamSession = await opened;
    if (upstreamSession === undefined) return;
    this.tools.forget(upstreamSession.session.key);
    await this.opener.endSession(upstreamSession);
  }
}

/** `opened` never rejects. */
async function settle(entry: SessionEntry): Promise<void> {
  const opened = await entry.opened;
  entry.isLate = false;
  if (opened === undefined) entry.failedAt = Date.now();
}

async function openedInTime(entry: SessionEntry): Promise<ClientUpstreamSession | undefined> {
  if (entry.isLate === true) return undefined;
  return withTimeout(entry.opened, PATIENCE_MS, () => {
    entry.isLate = true;
    return undefined;
  });
}

function isOutdated({ revision, failedAt }: SessionEntry, connection: Connection): boolean {
  return revision !== connection.revision || (failedAt !== undefined && Date.now() - failedAt > RETRY_AFTER_MS);
}
