import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { type Change, changesBetween, type Observed, OPEN_RUNS, type Snapshot, snapshotOf } from './change.js';
import { MAX_OBSERVED, ObservedRepository } from './observed.repository.js';

const LOOK_EVERY_MS = 1_000;
/**
 * An organization with too much to observe is told to read everything again, which costs more than a look: less often.
 */
const RESYNC_EVERY_MS = 10_000;
/** More changes than these at once are told as one `resync`: reading lists again costs less than so many events. */
const MAX_CHANGES = 500;
/** Observed while they are recent or open. All others are always observed. */
const RECENT: ReadonlySet<string> = new Set<Observed['type']>(['run', 'thread', 'approval']);

type Listener = (changes: readonly Change[]) => void;

interface Watched {
  readonly listeners: Set<Listener>;
  /** Undefined before the first look, and after one that could not see everything. */
  snapshot: Snapshot | undefined;
  /** The connections in the snapshot, and the state in which they were read; undefined without a snapshot. */
  connections: { readonly state: string | undefined; readonly observed: readonly Observed[] } | undefined;
  /** No look before this time, in milliseconds. */
  restsUntil: number;
}

/**
 * Notices changes in organizations that have listeners, by looking once a second: two queries for all of them, whatever
 * the number of listeners. What one organization has too much of leaves nothing out for another. Writers of runs pay
 * nothing for it, and without a listener nobody does.
 */
@Injectable()
export class ChangeFeed implements OnApplicationShutdown {
  private readonly logger = new Logger(ChangeFeed.name);
  private readonly watched = new Map<string, Watched>();
  /** The database's time at the start of the last look that succeeded. */
  private lastLook: Date | undefined;
  private readonly looks = new PeriodicTask(() => this.look(), {
    pauseMs: LOOK_EVERY_MS,
    isNeeded: () => this.watched.size > 0,
    // The next look that succeeds finds what changed meanwhile.
    onError: (error) => this.logger.warn(`Changes could not be read: ${(error as Error).message}`),
  });

  constructor(private readonly repository: ObservedRepository) {}

  /**
   * Calls `listener` with the changes of the organization, from the first `resync` on; after that of a first look, what
   * is recent counts as changed, because a reader may have read before it. Returns a function that ends it.
   */
  listen(organizationId: string, listener: Listener): () => void {
    const known = this.watched.get(organizationId) ?? {
      listeners: new Set(),
      snapshot: undefined,
      connections: undefined,
      restsUntil: 0,
    };
    this.watched.set(organizationId, known);
    known.listeners.add(listener);
    if (known.snapshot !== undefined || known.restsUntil > 0) listener([resync(new Date().toISOString())]);
    this.looks.start();
    return () => {
      known.listeners.delete(listener);
      if (known.listeners.size === 0 && this.watched.get(organizationId) === known) this.watched.delete(organizationId);
    };
  }

  async onApplicationShutdown(): Promise<void> {
    this.watched.clear();
    await this.looks.stop();
  }

  private async look(): Promise<void> {
    const startedAt = performance.now();
    const watched = [...this.watched].filter(([, { restsUntil }]) => restsUntil <= startedAt);
    if (watched.length === 0) return;
    const open = watched.flatMap(([, { snapshot }]) => [...(snapshot?.values() ?? [])].filter(isOpenRun));
    const ids = watched.map(([id]) => id);
    // Before the connections themselves: those that change in between are read again at the next look.
    const { now, connections: states } = await this.repository.states(ids);
    const changed = new Set(
      watched.filter(([id, { connections }]) => connections?.state !== states.get(id)).map(([id]) => id),
    );
    const observed = await this.repository.observe(
      ids,
      this.lastLook ?? now,
      open.map(({ id }) => id),
      [...changed],
    );
    this.lastLook = now;
    const at = new Date().toISOString();
    const byOrganization = Map.groupBy(observed, ({ organizationId }) => organizationId);
    for (const [id, each] of watched) {
      const before = each.snapshot;
      const found = byOrganization.get(id) ?? [];
      if (changed.has(id)) {
        each.connections = { state: states.get(id), observed: found.filter(({ type }) => type === 'connection') };
      } else found.push(...(each.connections?.observed ?? []));
      const isComplete = found.length <= MAX_OBSERVED;
      each.snapshot = isComplete ? snapshotOf(found) : undefined;
      if (!isComplete) each.connections = undefined;
      each.restsUntil = isComplete ? 0 : startedAt + RESYNC_EVERY_MS;
      const basis = before ?? snapshotOf(found.filter(({ type }) => !RECENT.has(type)));
      const known = each.snapshot === undefined ? [] : changesBetween(basis, each.snapshot, at);
      const told = known.length > MAX_CHANGES ? [] : known;
      const mayLackChanges = before === undefined || each.snapshot === undefined || told.length < known.length;
      const changes = mayLackChanges ? [resync(at), ...told] : told;
      if (changes.length > 0) for (const listener of each.listeners) listener(changes);
    }
  }
}

function isOpenRun({ type, status }: Observed): boolean {
  return type === 'run' && OPEN_RUNS.includes(status);
}

function resync(at: string): Change {
  return { type: 'resync', at };
}
