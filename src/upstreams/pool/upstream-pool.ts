import type { OnApplicationShutdown } from '@nestjs/common';
import type { Upstream } from '../contract/upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { UpstreamTarget } from '../contract/upstream-target.js';

export interface UpstreamPoolLimits {
  /** How many upstreams are kept; a new one evicts the least recently used. */
  size: number;
  /** Milliseconds without use after which an upstream's session is closed. */
  idleMs: number;
}

/** Calls back when a target's connection is edited or closed; returns a function that stops watching. */
export type WatchTarget = (target: UpstreamTarget, onEnd: (end: 'edited' | 'closed') => void) => () => void;

/** An upstream in use. */
export interface Loan {
  readonly upstream: Upstream;
  /** Call exactly once. */
  giveBack(): void;
}

interface Entry {
  key: string;
  connectionId: string;
  revision: string;
  upstream: Upstream;
  /** The number of active calls. */
  users: number;
  /** The number of the last use, counted over all entries. */
  lastUse: number;
  /** Is it no longer in the pool? Then its last user closes it. */
  retired: boolean;
  /** Runs from the last use; has no effect while the entry is in use. */
  readonly idle: NodeJS.Timeout;
  /** The upstream keeps the secrets of its revision, as a program does, so it is ended with the revision. */
  readonly endsWithRevision: boolean;
  readonly unwatch: () => void;
}

/**
 * The open upstreams of this process, one for each connection, revision and account. Callers borrow them. An upstream that leaves the pool
 * (idle, edited, evicted) is closed after its last caller.
 */
export class UpstreamPool implements OnApplicationShutdown {
  private readonly entries = new Map<string, Entry>();
  private uses = 0;
  private isClosed = false;

  constructor(
    private readonly create: (target: UpstreamTarget) => Upstream,
    private readonly limits: UpstreamPoolLimits,
    private readonly watch: WatchTarget = () => () => undefined,
  ) {}

  /** Lends the upstream of this target to `work`, which must not keep it. Rejects with what `work` rejects with. */
  async use<T>(target: UpstreamTarget, work: (upstream: Upstream) => Promise<T>): Promise<T> {
    const loan = this.borrow(target);
    try {
      return await work(loan.upstream);
    } finally {
      loan.giveBack();
    }
  }

  /** Lends the upstream of this target until it is returned. @throws UpstreamError if the service is stopping */
  borrow(target: UpstreamTarget): Loan {
    if (this.isClosed) throw new UpstreamError('cancelled', 'The service is stopping.');
    const entry = this.entryOf(target);
    entry.users++;
    entry.lastUse = ++this.uses;
    return { upstream: entry.upstream, giveBack: () => this.giveBack(entry) };
  }

  /** Evicts every revision of a connection that was edited or deleted; active calls finish. */
  evict(connectionId: string): void {
    for (const entry of this.entries.values()) {
      if (entry.connectionId === connectionId) this.retire(entry);
    }
  }

  /** Closes all upstreams permanently; active calls fail with `cancelled`. */
  async closeAll(): Promise<void> {
    this.isClosed = true;
    const entries = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(
      entries.map((entry) => {
        entry.retired = true;
        clearTimeout(entry.idle);
        entry.unwatch();
        return entry.upstream.close();
      }),
    );
  }

  onApplicationShutdown(): Promise<void> {
    return this.closeAll();
  }

  private entryOf(target: UpstreamTarget): Entry {
    const { connectionId, accountUserId = '', revision } = target;
    const key = `${connectionId}@${revision} ${accountUserId}`;
    const known = this.entries.get(key);
    if (known !== undefined) return known;
    // Sessions that were opened with replaced credentials are no longer needed.
    for (const entry of this.entries.values()) {
      if (entry.connectionId === connectionId && entry.revision !== revision) this.end(entry, 'edited');
    }
    return this.newEntry(key, target);
  }

  private newEntry(key: string, target: UpstreamTarget): Entry {
    const { connectionId, revision } = target;
    const upstream = this.create(target);
    const idle = setTimeout(() => entry.users === 0 && this.retire(entry), this.limits.idleMs).unref();
    const entry: Entry = {
      key,
      connectionId,
      revision,
      upstream,
      users: 0,
      lastUse: 0,
      retired: false,
      idle,
      endsWithRevision: target.kind === 'stdio' || target.kind === 'custom',
      unwatch: this.watch(target, (end) => this.end(entry, end)),
    };
    if (this.entries.size >= this.limits.size) this.makeRoom();
    this.entries.set(key, entry);
    return entry;
  }

  private giveBack(entry: Entry): void {
    entry.users--;
    if (entry.users > 0) return;
    if (entry.retired) void entry.upstream.close();
    else entry.idle.refresh();
  }

  private makeRoom(): void {
    const byLastUse = [...this.entries.values()].toSorted((a, b) => a.lastUse - b.lastUse);
    const evicted = byLastUse.find(({ users }) => users === 0) ?? byLastUse[0];
    if (evicted !== undefined) this.retire(evicted);
  }

  private retire(entry: Entry): void {
    this.entries.delete(entry.key);
    entry.retired = true;
    clearTimeout(entry.idle);
    entry.unwatch();
    if (entry.users === 0) void entry.upstream.close();
  }

  /** Active HTTP calls continue after an edit. Programs, and all calls of a closed connection, are ended. */
  private end(entry: Entry, end: 'edited' | 'closed'): void {
    this.retire(entry);
    if (entry.users > 0 && (end === 'closed' || entry.endsWithRevision)) void entry.upstream.close();
  }
}
