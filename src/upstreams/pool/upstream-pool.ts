import type { OnApplicationShutdown } from '@nestjs/common';
import type { StateOwner } from '../contract/callers.js';
import type { Upstream } from '../contract/upstream.js';
import type { UpstreamTarget } from '../contract/upstream-target.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { countsBy, findObstacle, LIMITED_HOLDER, type Shares, sharesOf } from '../stdio/program-slots.js';
import { PoolEntry } from './pool-entry.js';

interface UpstreamPoolLimits {
  /** How many shared upstreams are kept; a new one evicts one of the organization that has most. */
  size: number;
  /** Milliseconds without use after which an upstream's session is closed. */
  idleMs: number;
  /**
   * How many upstreams of owners are kept. Callers, connections and organizations get the same shares of them as of
   * programs.
   */
  ownedSize: number;
  /** The same as `idleMs`, for upstreams of owners. */
  ownedIdleMs: number;
}

/** What the pool watches. Each function returns one that stops watching. */
interface PoolWatches {
  /** Calls back when the target's connection is edited or closed. */
  connection(target: UpstreamTarget, onEnd: (end: 'edited' | 'closed') => void): () => void;
  /** Calls back when the credential is no longer valid. */
  credential(credential: NonNullable<StateOwner['credential']>, onEnd: () => void): () => void;
}

/** For whom an upstream is borrowed. */
export interface BorrowOptions {
  /** Who gets a session of its own with an upstream that has state; absent: the shared one is used. */
  readonly owner?: StateOwner | undefined;
  /** Ends the wait for the connection. Read only if there is a wait. */
  readonly signal?: AbortSignal | undefined;
}

/** An upstream in use. */
export interface Loan {
  readonly upstream: Upstream;
  /** Call exactly once. */
  giveBack(): void;
}

const NO_WATCHES: PoolWatches = { connection: () => () => undefined, credential: () => () => undefined };

/**
 * The open upstreams of this process. There is a shared one for each connection, revision and account: it lists what
 * the upstream offers, and serves callers whose state cannot or need not be separated. Each owner has its own with an
 * upstream that has state: a program, or an HTTP server that opens a session. Callers borrow them. An upstream that
 * leaves the pool (idle, edited, evicted) is closed after its last caller.
 */
export class UpstreamPool implements OnApplicationShutdown {
  private readonly shared = new Map<string, PoolEntry>();
  private readonly owned = new Map<string, PoolEntry>();
  private readonly shares: Shares;
  private isClosed = false;

  constructor(
    private readonly create: (target: UpstreamTarget, owner: StateOwner | undefined) => Upstream,
    private readonly limits: UpstreamPoolLimits,
    private readonly watches: PoolWatches = NO_WATCHES,
  ) {
    this.shares = sharesOf(limits.ownedSize);
  }

  /** Lends the upstream of this target to `work`, which must not keep it. Rejects with what `work` rejects with. */
  async use<T>(
    target: UpstreamTarget,
    work: (upstream: Upstream) => Promise<T>,
    options: BorrowOptions = {},
  ): Promise<T> {
    const loan = await this.borrow(target, options);
    try {
      return await work(loan.upstream);
    } finally {
      loan.giveBack();
    }
  }

  /**
   * Lends the upstream of this target until it is returned, once it is known whether the upstream has state.
   * @throws UpstreamError if the service is stopping, the owner has reached a limit, or the upstream cannot be reached
   */
  async borrow(target: UpstreamTarget, options: BorrowOptions = {}): Promise<Loan> {
    const { owner } = options;
    if (this.isClosed) throw new UpstreamError('cancelled', 'The service is stopping.');
    if (owner === undefined || target.sharesState === true) return lend(this.sharedEntry(target));
    if (target.kind === 'stdio' || target.kind === 'custom') return lend(this.ownedEntry(target, owner));
    const shared = this.sharedEntry(target);
    const { isStateless } = shared.upstream;
    return isStateless === undefined
      ? this.borrowOnceKnown(shared, target, owner, options)
      : this.lendFor(owner, target, shared, isStateless);
  }

  /** Ends the sessions of an owner, with their calls. */
  endOwned(ownerKey: string): void {
    for (const entry of this.owned.values()) {
      if (entry.owner?.key === ownerKey) entry.end('closed');
    }
  }

  /** Closes all upstreams permanently; active calls fail with `cancelled`. */
  async onApplicationShutdown(): Promise<void> {
    this.isClosed = true;
    const entries = this.all();
    await Promise.all(
      entries.map((entry) => {
        this.retire(entry);
        return entry.close();
      }),
    );
  }

  private async borrowOnceKnown(
    shared: PoolEntry,
    target: UpstreamTarget,
    owner: StateOwner,
    options: BorrowOptions,
  ): Promise<Loan> {
    shared.enter();
    try {
      await shared.upstream.serverDescription(options.signal);
      return this.lendFor(owner, target, shared, shared.upstream.isStateless === true);
    } finally {
      shared.leave();
    }
  }

  private lendFor(owner: StateOwner, target: UpstreamTarget, shared: PoolEntry, isStateless: boolean): Loan {
    if (isStateless) return lend(shared);
    // It hears when the upstream's lists change.
    shared.touch();
    return lend(this.ownedEntry(target, owner));
  }

  private sharedEntry(target: UpstreamTarget): PoolEntry {
    const key = keyOf(target);
    const known = this.shared.get(key);
    if (known !== undefined) return known;
    this.endOtherRevisions(target);
    const entry = this.newEntry(key, target, undefined);
    if (this.shared.size >= this.limits.size) this.evictShared(entry);
    this.shared.set(key, entry);
    return entry;
  }

  private ownedEntry(target: UpstreamTarget, owner: StateOwner): PoolEntry {
    const key = `${keyOf(target)} ${owner.key}`;
    const known = this.owned.get(key);
    if (known !== undefined) return known;
    this.endOtherRevisions(target);
    const entry = this.newEntry(key, target, owner);
    try {
      this.requireRoom(entry);
    } catch (error) {
      entry.leavePool();
      throw error;
    }
    this.owned.set(key, entry);
    return entry;
  }

  /** Sessions that were opened with replaced credentials are no longer needed. */
  private endOtherRevisions({ connectionId, revision }: UpstreamTarget): void {
    for (const entry of this.all()) {
      if (entry.connectionId === connectionId && entry.revision !== revision) entry.end('edited');
    }
  }

  private newEntry(key: string, target: UpstreamTarget, owner: StateOwner | undefined): PoolEntry {
    const upstream = this.create(target, owner);
    const idleMs = owner === undefined ? this.limits.idleMs : this.limits.ownedIdleMs;
    const entry = new PoolEntry({ key, target, owner, upstream, idleMs, retire: (one) => this.retire(one) });
    entry.unwatch.push(this.watches.connection(target, (end) => entry.end(end)));
    if (owner?.credential !== undefined) {
      entry.unwatch.push(this.watches.credential(owner.credential, () => entry.end('closed')));
    }
    return entry;
  }

  private requireRoom({ holder }: PoolEntry): void {
    for (;;) {
      const obstacle = findObstacle(holder, [...this.owned.values()], this.shares, false);
      if (obstacle === undefined) return;
      const { slot, scope } = obstacle;
      if (slot?.makeRoom === undefined) {
        const reason = `${LIMITED_HOLDER[scope]} reached the limit of sessions in use`;
        throw new UpstreamError('busy', `A session with the upstream cannot be opened: ${reason}.`);
      }
      void slot.makeRoom();
    }
  }

  /** Of the organization with the most, including the newcomer: the least recently used, preferably an idle one. */
  private evictShared(newcomer: PoolEntry): void {
    const entries = [...this.shared.values()];
    const holders = [newcomer, ...entries].map(({ holder }) => holder);
    const counts = countsBy(holders, ({ organizationId }) => organizationId);
    const countOf = ({ holder }: PoolEntry): number => counts.get(holder.organizationId) ?? 0;
    const [evicted] = entries.toSorted(
      (a, b) => countOf(b) - countOf(a) || Math.min(a.users, 1) - Math.min(b.users, 1) || a.lastUse - b.lastUse,
    );
    if (evicted !== undefined) this.retire(evicted);
  }

  private retire(entry: PoolEntry): void {
    const entries = entry.owner === undefined ? this.shared : this.owned;
    if (entries.get(entry.key) !== entry) return;
    entries.delete(entry.key);
    entry.leavePool();
  }

  private all(): PoolEntry[] {
    return [...this.shared.values(), ...this.owned.values()];
  }
}

function lend(entry: PoolEntry): Loan {
  entry.enter();
  return { upstream: entry.upstream, giveBack: () => entry.leave() };
}

function keyOf({ connectionId, accountUserId = '', revision }: UpstreamTarget): string {
  return `${connectionId}@${revision} ${accountUserId}`;
}
