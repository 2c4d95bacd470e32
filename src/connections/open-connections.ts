import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../common/periodic-task.js';
import type { Connection } from './connection.js';
import { ConnectionChanges } from './connection-changes.js';
import { ConnectionRepository } from './connection.repository.js';

/** Half of the second within which an edit in another process is to be seen. */
const CHECK_EVERY_MS = 500;

/** `edited`: how it is called has changed. `closed`: it was deleted or switched off. */
export type ConnectionEnd = 'edited' | 'closed';

interface Watch {
  readonly revision: number;
  readonly onEnd: (end: ConnectionEnd) => void;
}

/**
 * Watches the connections for which something is kept open: sessions, programs, streams. One query for all of them, twice a
 * second, only while there are any, and at once for what this process has written. While the database is away nothing can be
 * told: what is open stays open, and the next check catches up.
 */
@Injectable()
export class OpenConnections implements OnApplicationShutdown {
  private readonly logger = new Logger(OpenConnections.name);
  private readonly watched = new Map<string, Set<Watch>>();
  private readonly checks = new PeriodicTask(() => this.check([...this.watched.keys()]), {
    pauseMs: CHECK_EVERY_MS,
    isNeeded: () => this.watched.size > 0,
    onError: (error) => this.report(error),
  });

  constructor(
    private readonly repository: ConnectionRepository,
    changes: ConnectionChanges,
  ) {
    changes.onChange((id) => {
      if (this.watched.has(id)) this.check([id]).catch((error: unknown) => this.report(error));
    });
  }

  /** Calls `onEnd` once when the connection is no longer what it is now. Returns the function that ends the watch. */
  watch({ id, revision }: Pick<Connection, 'id' | 'revision'>, onEnd: (end: ConnectionEnd) => void): () => void {
    const watches = this.watched.get(id) ?? new Set();
    const watch = { revision, onEnd };
    watches.add(watch);
    this.watched.set(id, watches);
    this.checks.start();
    return () => {
      watches.delete(watch);
      if (watches.size === 0 && this.watched.get(id) === watches) this.watched.delete(id);
    };
  }

  onApplicationShutdown(): void {
    void this.checks.stop();
    this.watched.clear();
  }

  private async check(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const active = await this.repository.findActiveRevisions(ids);
    for (const id of ids) this.compare(id, active.get(id));
  }

  private report(error: unknown): void {
    this.logger.warn(`Open connections could not be checked: ${(error as Error).message}`);
  }

  /** @param revision undefined for a connection that is gone or inactive */
  private compare(id: string, revision: number | undefined): void {
    const watches = this.watched.get(id) ?? new Set();
    for (const watch of watches) {
      // An older revision was read before the watch began.
      if (revision !== undefined && revision <= watch.revision) continue;
      watches.delete(watch);
      watch.onEnd(revision === undefined ? 'closed' : 'edited');
    }
    if (watches.size === 0) this.watched.delete(id);
  }
}
