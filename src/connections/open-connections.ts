import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../core/periodic-task.js';
import type { Connection } from './connection.js';
import { ConnectionChanges } from './connection-changes.js';
import { ConnectionRepository } from './connection.repository.js';

/** Half of the second within which an edit in another process must take effect. */
const CHECK_EVERY_MS = 500;

/** `edited`: its target or credentials have changed. `closed`: it was deleted or switched off. */
type ConnectionEnd = 'edited' | 'closed';

interface Watch {
  readonly revision: number;
  readonly onEnd: (end: ConnectionEnd) => void;
}

/**
 * Watches the connections that have open sessions, programs or streams. While there are any, one query checks them all
 * twice a second, and writes of this process are checked at once. While the database is unavailable, open resources
 * stay open; the next check catches up.
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

  /** Calls `onEnd` once, when the connection changes or ends. Returns the function that ends the watch. */
  watchConnection(
    { id, revision }: Pick<Connection, 'id' | 'revision'>,
    onEnd: (end: ConnectionEnd) => void,
  ): () => void {
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
    this.logger.warn(`Could not check open connections: ${(error as Error).message}`);
  }

  /** @param revision undefined for a connection that is deleted or inactive */
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
