import type { OnApplicationShutdown } from '@nestjs/common';
import type { Upstream } from './upstream.js';
import type { UpstreamTarget } from './upstream-target.js';

export interface UpstreamPoolLimits {
  /** Upstreams kept at once; the least recently used one makes room for a new one. */
  size: number;
  /** Milliseconds without use after which an upstream's session is closed. */
  idleMs: number;
}

interface Entry {
  key: string;
  connectionId: string;
  upstream: Upstream;
  /** Calls under way. */
  users: number;
  /** No longer in the pool: closes with its last user. */
  retired: boolean;
  idle?: NodeJS.Timeout;
}

/**
 * The live upstreams of this process, one for each connection and revision. Callers borrow one with `use`; whatever leaves
 * the pool (idle, edited, displaced) is closed when its last caller is done with it.
 */
export class UpstreamPool implements OnApplicationShutdown {
  /** In the order of last use. */
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly create: (target: UpstreamTarget) => Upstream,
    private readonly limits: UpstreamPoolLimits,
  ) {}

  /** Lends the upstream of this target to `work`, which must not keep it. Rejects with what `work` rejects with. */
  async use<T>(target: UpstreamTarget, work: (upstream: Upstream) => Promise<T>): Promise<T> {
    const entry = this.borrow(target);
    try {
      return await work(entry.upstream);
    } finally {
      this.giveBack(entry);
    }
  }

  /** Lets go of every revision of a connection that was edited or deleted; calls under way finish. */
  evict(connectionId: string): void {
    for (const entry of this.entries.values()) {
      if (entry.connectionId === connectionId) this.retire(entry);
    }
  }

  /** Closes everything at once; calls under way fail with `cancelled`. */
  async closeAll(): Promise<void> {
    const entries = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(
      entries.map((entry) => {
        entry.retired = true;
        clearTimeout(entry.idle);
        return entry.upstream.close();
      }),
    );
  }

  onApplicationShutdown(): Promise<void> {
    return this.closeAll();
  }

  private borrow(target: UpstreamTarget): Entry {
    const key = `${target.connectionId}@${target.revision}`;
    const known = this.entries.get(key);
    // What was opened with credentials that were replaced since is of no more use.
    if (known === undefined) this.evict(target.connectionId);
    const entry = known ?? this.newEntry(key, target);
    clearTimeout(entry.idle);
    entry.users++;
    this.entries.delete(key);
    this.entries.set(key, entry);
    this.makeRoom();
    return entry;
  }

  private newEntry(key: string, target: UpstreamTarget): Entry {
    return { key, connectionId: target.connectionId, upstream: this.create(target), users: 0, retired: false };
  }

  private giveBack(entry: Entry): void {
    entry.users--;
    if (entry.users > 0) return;
    if (entry.retired) void entry.upstream.close();
    else entry.idle = setTimeout(() => this.retire(entry), this.limits.idleMs).unref();
  }

  private makeRoom(): void {
    if (this.entries.size <= this.limits.size) return;
    const entries = [...this.entries.values()];
    const displaced = entries.find(({ users }) => users === 0) ?? entries[0];
    if (displaced !== undefined) this.retire(displaced);
  }

  private retire(entry: Entry): void {
    this.entries.delete(entry.key);
    entry.retired = true;
    clearTimeout(entry.idle);
    if (entry.users === 0) void entry.upstream.close();
  }
}
