import { setMaxListeners } from 'node:events';
import type { ClientUpstreamSession } from './client-upstream-session.js';

/** A session with one connection of the agent, or the failed attempt to open it. */
export interface SessionEntry {
  readonly revision: number;
  readonly opened: Promise<ClientUpstreamSession | undefined>;
  /** Stops watching the connection. */
  unwatch?: () => void;
  /** When the attempt failed, in milliseconds since the epoch. */
  failedAt?: number;
  /** True if it was still opening when a request had waited long enough. Later requests then do not wait for it. */
  isLate?: boolean;
}

/** The organization and caller that a session counts towards. */
export interface Holder {
  readonly organizationId: string;
  /** See `Principal.callerId`. */
  readonly callerId: string;
}

/** The state of one caller's session with an agent. */
export interface Owned {
  readonly holder: Holder;
  /** By connection id. */
  readonly sessions: Map<string, SessionEntry>;
  level: string | undefined;
  /** In milliseconds since the epoch. */
  usedAt: number;
  /** How many streams and calls are active. */
  held: number;
  /** Aborted when the caller ends its session or the session is evicted. */
  readonly ending: AbortController;
  /** Stops watching the caller's credential. */
  unwatch?: () => void;
}

/** The sessions of callers by session key, in the order of use. */
export class OwnedSessions {
  private readonly owned = new Map<string, Owned>();

  /** @param limit above which sessions are evicted */
  constructor(private readonly limit: number) {}

  get entries(): readonly (readonly [key: string, owned: Owned])[] {
    return [...this.owned];
  }

  get(key: string): Owned | undefined {
    return this.owned.get(key);
  }

  /** Returns the session as the most recently used one, and adds it if it is new. */
  use(key: string, holder: Holder): Owned {
    const owned = this.owned.get(key) ?? newOwned(holder);
    owned.usedAt = Date.now();
    this.owned.delete(key);
    this.owned.set(key, owned);
    return owned;
  }

  delete(key: string): void {
    this.owned.delete(key);
  }

  /**
   * The session to evict if there are too many: from the organization with the most sessions, so that one with many
   * keys cannot displace others; within it, from the caller with the most; of those, the least recently used,
   * preferably one without active requests.
   * @param inUse the key of a session that is never evicted
   */
  findSurplus(inUse: string): string | undefined {
    if (this.owned.size <= this.limit) return undefined;
    const others = [...this.owned].filter(([key]) => key !== inUse);
    const ofOrganization = largest(Map.groupBy(others, ([, { holder }]) => holder.organizationId));
    const ofCaller = largest(Map.groupBy(ofOrganization, ([, { holder }]) => holder.callerId));
    const [key] = ofCaller.find(([, { held }]) => held === 0) ?? ofCaller[0] ?? [];
    return key;
  }
}

/** The largest group, the first of equals; empty if there are no groups. */
function largest<T>(groups: ReadonlyMap<string, readonly T[]>): readonly T[] {
  return [...groups.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
}

function newOwned(holder: Holder): Owned {
  const ending = new AbortController();
  // Each open stream of the caller adds a listener.
  setMaxListeners(0, ending.signal);
  return { holder, sessions: new Map(), level: undefined, usedAt: 0, held: 0, ending };
}
