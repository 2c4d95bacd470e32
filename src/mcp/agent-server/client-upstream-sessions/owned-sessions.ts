import { setMaxListeners } from 'node:events';
import type { ClientUpstreamSession } from './client-upstream-session.js';

/** A member's session, or what came of opening it. */
export interface Place {
  readonly revision: number;
  readonly opened: Promise<ClientUpstreamSession | undefined>;
  /** Stops watching the connection. */
  unwatch?: () => void;
  /** When it was given up, in milliseconds since the epoch. */
  failedAt?: number;
  /** Still on its way when somebody had waited long enough: nobody waits for it any longer. */
  isLate?: boolean;
}

/** Whose session it is. */
export interface Holder {
  readonly organizationId: string;
  readonly apiKeyId: string;
}

/** What one session of a caller with an agent holds. */
export interface Owned {
  readonly holder: Holder;
  /** By the connection's id. */
  readonly members: Map<string, Place>;
  level: string | undefined;
  /** In milliseconds since the epoch. */
  usedAt: number;
  /** Streams and calls that are under way. */
  held: number;
  /** Aborted when the caller ends its session, or it has to make room. */
  readonly ending: AbortController;
  /** Stops watching the caller's key. */
  unwatch?: () => void;
}

/** The sessions of callers by their keys, in the order of use. */
export class OwnedSessions {
  private readonly owned = new Map<string, Owned>();

  /** @param limit how many there may be before some have to go */
  constructor(private readonly limit: number) {}

  get entries(): readonly (readonly [key: string, owned: Owned])[] {
    return [...this.owned];
  }

  get(key: string): Owned | undefined {
    return this.owned.get(key);
  }

  /** It is there from now on, and was used last. */
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
   * Which one has to go, if there are too many: of the organization that holds the most, so that nobody pushes others out, not
   * even with many keys; in it, of the key that holds the most; of those the one that was used longest ago, if possible one in
   * which nothing is under way.
   * @param inUse stays in any case
   */
  surplusBeside(inUse: string): string | undefined {
    if (this.owned.size <= this.limit) return undefined;
    const others = [...this.owned].filter(([key]) => key !== inUse);
    const ofOrganization = largest(Map.groupBy(others, ([, { holder }]) => holder.organizationId));
    const ofKey = largest(Map.groupBy(ofOrganization, ([, { holder }]) => holder.apiKeyId));
    const [key] = ofKey.find(([, { held }]) => held === 0) ?? ofKey[0] ?? [];
    return key;
  }
}

/** The first of equals; an empty one if there is none. */
function largest<T>(groups: ReadonlyMap<string, readonly T[]>): readonly T[] {
  return [...groups.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
}

function newOwned(holder: Holder): Owned {
  const ending = new AbortController();
  // As many as the caller has streams open.
  setMaxListeners(0, ending.signal);
  return { holder, members: new Map(), level: undefined, usedAt: 0, held: 0, ending };
}
