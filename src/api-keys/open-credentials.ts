import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../common/periodic-task.js';
import type { Principal } from '../common/principal.js';
import { ApiKeyRepository } from './api-key.repository.js';

/** A deleted key must stop working within a second. Half of that leaves time for a check in progress. */
const CHECK_EVERY_MS = 500;

/** An open response. */
interface Watch {
  /** The caller's permissions at the start; undefined if only the end of the credential matters. */
  readonly permissionsDigest: string | undefined;
  readonly onRevoked: () => void;
}

/**
 * Watches the credentials of responses that stay open, with one query for all of them twice a second. A response ends when
 * its credential ends, and also when the permissions change, because they may no longer allow the response.
 */
@Injectable()
export class OpenCredentials implements OnApplicationShutdown {
  private readonly logger = new Logger(OpenCredentials.name);
  private readonly watched = new Map<string, Set<Watch>>();
  private readonly checks = new PeriodicTask(() => this.check(), {
    pauseMs: CHECK_EVERY_MS,
    isNeeded: () => this.watched.size > 0,
    // Streams stay open while the database is unavailable. New requests are rejected during authentication.
    onError: (error) => this.logger.warn(`Open credentials could not be checked: ${(error as Error).message}`),
  });

  constructor(private readonly repository: ApiKeyRepository) {}

  /**
   * Calls `onRevoked` once when the caller's credential becomes invalid or its permissions change. Returns a function that
   * ends the watch.
   */
  watchCredential(caller: Principal, onRevoked: () => void): () => void {
    return this.add(caller.apiKeyId, { permissionsDigest: caller.permissionsDigest, onRevoked });
  }

  /** Calls `onRevoked` once when the key is deleted or expires. Ignores changes of its permissions. */
  watchKey(apiKeyId: string, onRevoked: () => void): () => void {
    return this.add(apiKeyId, { permissionsDigest: undefined, onRevoked });
  }

  onApplicationShutdown(): void {
    void this.checks.stop();
    this.watched.clear();
  }

  private add(apiKeyId: string, watch: Watch): () => void {
    const watches = this.watched.get(apiKeyId) ?? new Set();
    watches.add(watch);
    this.watched.set(apiKeyId, watches);
    this.checks.start();
    return () => {
      watches.delete(watch);
      if (watches.size === 0 && this.watched.get(apiKeyId) === watches) this.watched.delete(apiKeyId);
    };
  }

  private async check(): Promise<void> {
    const ids = [...this.watched.keys()];
    if (ids.length === 0) return;
    const usable = await this.repository.findUsable(ids);
    for (const id of ids) this.revoke(id, usable.get(id));
  }

  /** @param permissionsDigest undefined for a credential that is no longer valid */
  private revoke(id: string, permissionsDigest: string | undefined): void {
    const watches = this.watched.get(id) ?? new Set();
    for (const watch of watches) {
      const isUnchanged = watch.permissionsDigest === undefined || watch.permissionsDigest === permissionsDigest;
      if (permissionsDigest !== undefined && isUnchanged) continue;
      watches.delete(watch);
      watch.onRevoked();
    }
    if (watches.size === 0) this.watched.delete(id);
  }
}
