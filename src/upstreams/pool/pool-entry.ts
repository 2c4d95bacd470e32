import type { StateOwner } from '../contract/callers.js';
import type { Upstream } from '../contract/upstream.js';
import type { UpstreamTarget } from '../contract/upstream-target.js';
import type { ProgramHolder, ProgramSlot } from '../stdio/program-slots.js';

/** What the pool gives to an upstream that it keeps. */
interface EntryParts {
  readonly key: string;
  readonly target: UpstreamTarget;
  /** Absent for an upstream that callers share. */
  readonly owner: StateOwner | undefined;
  readonly upstream: Upstream;
  readonly idleMs: number;
  /** Takes the entry out of the pool. */
  readonly retire: (entry: PoolEntry) => void;
}

let uses = 0;

/** An upstream in the pool. */
export class PoolEntry implements ProgramSlot {
  readonly key: string;
  readonly connectionId: string;
  readonly revision: string;
  readonly owner: StateOwner | undefined;
  readonly holder: ProgramHolder;
  readonly upstream: Upstream;
  /** Stop watching what can end it. */
  readonly unwatch: (() => void)[] = [];
  /** The number of active calls. */
  users = 0;
  /** The number of the last use, counted over all entries. */
  lastUse = 0;
  /** The upstream keeps the secrets of its revision, as a program does, so it is ended with the revision. */
  private readonly endsWithRevision: boolean;
  /** Runs from the last use; has no effect while the entry is in use. */
  private readonly idle: NodeJS.Timeout;
  private readonly retire: (entry: PoolEntry) => void;
  /** On the monotonic clock, in milliseconds. */
  private usedAt = performance.now();
  /** True if it is no longer in the pool. Its last user then closes it. */
  private isRetired = false;
  private closing: Promise<void> | undefined;

  constructor({ key, target, owner, upstream, idleMs, retire }: EntryParts) {
    this.key = key;
    this.connectionId = target.connectionId;
    this.revision = target.revision;
    this.owner = owner;
    this.holder = {
      organizationId: organizationOf(target),
      connectionId: target.connectionId,
      callerId: owner?.callerId,
    };
    this.upstream = upstream;
    this.endsWithRevision = target.kind === 'stdio' || target.kind === 'custom';
    this.retire = retire;
    this.idle = setTimeout(() => this.users === 0 && retire(this), idleMs).unref();
  }

  get unusedMs(): number {
    return performance.now() - this.usedAt;
  }

  get makeRoom(): (() => Promise<void>) | undefined {
    return this.users > 0 ? undefined : async () => this.retire(this);
  }

  /** Begins a call. */
  enter(): void {
    this.users++;
    this.lastUse = ++uses;
    this.usedAt = performance.now();
  }

  /** Ends a call. */
  leave(): void {
    this.users--;
    if (this.users > 0) return;
    if (this.isRetired) void this.close();
    else this.touch();
  }

  /** Counts as used without a call. */
  touch(): void {
    this.usedAt = performance.now();
    this.idle.refresh();
  }

  /** Call when the entry has left the pool. Its last user closes the upstream. */
  leavePool(): void {
    this.isRetired = true;
    clearTimeout(this.idle);
    for (const stop of this.unwatch.splice(0)) stop();
    if (this.users === 0) void this.close();
  }

  /** Closes the upstream, also while it is in use. */
  close(): Promise<void> {
    this.closing ??= this.upstream.close();
    return this.closing;
  }

  /** Call when the connection or the owner's credential has ended. Active HTTP calls continue only after an edit. */
  end(end: 'edited' | 'closed'): void {
    this.retire(this);
    if (this.users > 0 && (end === 'closed' || this.endsWithRevision)) void this.close();
  }
}

function organizationOf(target: UpstreamTarget): string {
  return target.kind === 'custom' ? target.access.organizationId : target.organizationId;
}
