import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../common/periodic-task.js';
import type { Principal } from '../common/principal.js';
import { ApiKeyRepository } from './api-key.repository.js';

/** Half of the second within which a deleted key must stop working, so that a check in progress still makes it. */
const CHECK_EVERY_MS = 500;

/** A response that is open. */
interface Watch {
  /** What its caller might when it began; undefined where only the end of the credential counts. */
  readonly permissionsDigest: string | undefined;
  readonly onRevoked: () => void;
}

/**
 * Watches the credentials of responses that stay open. One query for all of them, twice a second, only while there are
 * any. What a credential was allowed when a response began may not be allowed any more, so a change of its permissions ends the
 * response as well as its end does.
 */
@Injectable()
export class OpenCredentials implements OnApplicationShutdown {
  private readonly logger = new Logger(OpenCredentials.name);
  private readonly watched = new Map<string, Set<Watch>>();
  private readonly checks = new PeriodicTask(() => this.check(), {
    pauseMs: CHECK_EVERY_MS,
    isNeeded: () => this.watched.size > 0,
    // While the database is away nobody can tell: streams stay open, new requests are refused elsewhere.
    onError: (error) => this.logger.warn(`Open credentials could not be checked: ${(error as Error).message}`),
  });

  constructor(private readonly repository: ApiKeyRepository) {}

  /**
   * Calls `onRevoked` once when the caller's credential stops being valid, or may something else than it might. Returns the
   * function that ends the watch.
   */
  watch(caller: Principal, onRevoked: () => void): () => void {
    return this.add(caller.apiKeyId, { permissionsDigest: caller.permissionsDigest, onRevoked });
  }

  /** Calls `onRevoked` once when the key is deleted or expires, whatever its permissions become. */
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

  /** @param permissionsDigest undefined for a credential that is not valid any more */
  private revoke(id: string, permissionsDigest: string | undefined): void {
    const watches = this.watched.get(id) ?? new Set();
    for (const watch of watches) {
      const isAsBefore = watch.permissionsDigest === undefined || watch.permissionsDigest === permissionsDigest;
      if (permissionsDigest !== undefined && isAsBefore) continue;
      watches.delete(watch);
      watch.onRevoked();
    }
    if (watches.size === 0) this.watched.delete(id);
  }
}
