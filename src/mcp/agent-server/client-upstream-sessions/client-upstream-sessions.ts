import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { OpenCredentials } from '../../../api-keys/open-credentials.js';
import { withTimeout } from '../../../common/with-timeout.js';
import type { Connection } from '../../../connections/connection.js';
import { OpenConnections } from '../../../connections/open-connections.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { type Session, unknownSession } from '../../forwarding/session/sealed-sessions.js';
import { SessionTools } from '../../forwarding/session/session-tools.js';
import { type ClientUpstreamSession, PATIENCE_MS, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessionOpener } from './client-upstream-session-opener.js';
import { type Owned, OwnedSessions, type Place } from './owned-sessions.js';

/** Sessions of callers that are kept at a time, and members of each. */
const MAX_OWNERS = 1_000;
const MAX_MEMBERS = 100;
const MAX_ENDED = 10_000;
const IDLE_MS = 15 * 60_000;
const LOOK_EVERY_MS = 60_000;
const OPEN_TIMEOUT_MS = 10_000;
/** For how long an upstream that opened no session is not asked again. */
const FAULT_REMEMBERED_MS = 60_000;

/**
 * The sessions that were opened with connections of an agent in the name of one caller each, so that an upstream can ask that
 * caller back. They are opened when first needed and kept in this process: another one opens its own for the same caller.
 */
@Injectable()
export class ClientUpstreamSessions implements OnApplicationShutdown {
  private readonly owners = new OwnedSessions(MAX_OWNERS);
  private readonly ended = new Set<string>();
  private readonly timer = setInterval(() => this.endIdle(), LOOK_EVERY_MS).unref();

  constructor(
    private readonly opener: ClientUpstreamSessionOpener,
    private readonly tools: SessionTools,
    private readonly credentials: OpenCredentials,
    private readonly connections: OpenConnections,
  ) {}

  /** The session with this connection; undefined if its upstream opens none: then the shared one has to do. */
  async of(owner: SessionOwner, connection: Connection): Promise<ClientUpstreamSession | undefined> {
    // A program would run once more for every caller.
    if (connection.type !== 'HTTP' || this.ended.has(owner.session.key)) return undefined;
    const owned = this.use(owner);
    const known = owned.members.get(connection.id);
    if (known !== undefined && !isOver(known, connection)) return inTime(known);
    if (known === undefined && owned.members.size >= MAX_MEMBERS) return undefined;
    if (known !== undefined) void this.close(known);
    const place: Place = { revision: connection.revision, opened: this.open(owner, connection, owned) };
    owned.members.set(connection.id, place);
    place.unwatch = this.connections.watch(connection, () => {
      if (owned.members.get(connection.id) === place) owned.members.delete(connection.id);
      void this.close(place);
    });
    void settle(place);
    return inTime(place);
  }

  /** The upstream has forgotten the session: opens another one. @throws UpstreamError if there is none to be had */
  async renew(owner: SessionOwner, stale: ClientUpstreamSession): Promise<ClientUpstreamSession> {
    const { members } = this.use(owner);
    const known = members.get(stale.connection.id);
    // Another request may have renewed it.
    if (known !== undefined && (await known.opened) === stale) {
      members.delete(stale.connection.id);
      this.tools.forget(stale.session.key);
    }
    const renewed = await this.of(owner, stale.connection);
    // Not that the session is unknown: the caller's own, with the agent, goes on.
    if (renewed === undefined) throw new UpstreamError('unreachable', 'The upstream opens no session any longer.');
    return renewed;
  }

  /** Those that are open. */
  async opened({ session }: SessionOwner): Promise<ClientUpstreamSession[]> {
    const places = [...(this.owners.get(session.key)?.members.values() ?? [])];
    return (await Promise.all(places.map(({ opened }) => opened))).filter((member) => member !== undefined);
  }

  /** The log level for sessions that are opened from now on. */
  setLevel(owner: SessionOwner, level: string): void {
    this.use(owner).level = level;
  }

  /** Aborted when the caller ends its session, or it has to make room. */
  endOf(owner: SessionOwner): AbortSignal {
    return this.use(owner).ending.signal;
  }

  /** Keeps the sessions while a stream or a call is under way. Returns how to let go of them. */
  hold(owner: SessionOwner): () => void {
    const owned = this.use(owner);
    owned.held++;
    return () => {
      owned.held--;
      owned.usedAt = Date.now();
    };
  }

  /** The caller ends its session. Another process does not hear of it, and forgets its part when it is idle. */
  end(key: string): void {
    this.ended.add(key);
    const [oldest = key] = this.ended;
    if (this.ended.size > MAX_ENDED) this.ended.delete(oldest);
    void this.drop(key);
  }

  /**
   * The owner of member sessions that a caller is; undefined for one whose client answers no requests, and for callers without
   * a credential, who must not cost a session each.
   * @throws DomainError `session_not_found` for a session that has been ended here
   */
  ownerOf(caller: ProxyCaller, session: Session): SessionOwner | undefined {
    const { key, initialize } = session;
    if (this.ended.has(key)) throw unknownSession();
    if (initialize === undefined || caller.principal === undefined) return undefined;
    return { caller, session: { ...session, initialize } };
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.owners.entries.map(([key]) => this.drop(key)));
  }

  private use({ caller, session }: SessionOwner): Owned {
    const holder = { organizationId: caller.connection.organizationId, apiKeyId: caller.principal?.apiKeyId ?? '' };
    const owned = this.owners.use(session.key, holder);
    owned.unwatch ??= this.credentials.watchKey(holder.apiKeyId, () => void this.drop(session.key));
    const surplus = this.owners.surplusBeside(session.key);
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
      return await this.opener.open(connection, owner.session.initialize, owned.level, signal);
    } catch {
      // The shared session tells the caller what is wrong with the upstream, if anything is.
      return undefined;
    }
  }

  private endIdle(): void {
    for (const [key, { held, usedAt }] of this.owners.entries) {
      if (held === 0 && Date.now() - usedAt > IDLE_MS) void this.drop(key);
    }
  }

  private async drop(key: string): Promise<void> {
    const owned = this.owners.get(key);
    if (owned === undefined) return;
    this.owners.delete(key);
    owned.unwatch?.();
    owned.ending.abort();
    const places = [...owned.members.values()];
    await Promise.all(places.map((place) => this.close(place)));
  }

  private async close({ opened, unwatch }: Place): Promise<void> {
    unwatch?.();
    const member = await opened;
    if (member === undefined) return;
    this.tools.forget(member.session.key);
    await this.opener.end(member);
  }
}

/** The opening never rejects. */
async function settle(place: Place): Promise<void> {
  const opened = await place.opened;
  place.isLate = false;
  if (opened === undefined) place.failedAt = Date.now();
}

async function inTime(place: Place): Promise<ClientUpstreamSession | undefined> {
  if (place.isLate === true) return undefined;
  return withTimeout(place.opened, PATIENCE_MS, () => {
    place.isLate = true;
    return undefined;
  });
}

function isOver({ revision, failedAt }: Place, connection: Connection): boolean {
  return revision !== connection.revision || (failedAt !== undefined && Date.now() - failedAt > FAULT_REMEMBERED_MS);
}
