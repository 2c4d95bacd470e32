import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Principal } from '../common/principal.js';
import { ApiKeyRepository } from './api-key.repository.js';

/** Half of the second within which a deleted key must stop working, so that a check in progress still makes it. */
const CHECK_EVERY_MS = 500;

/**
 * Watches the credentials of responses that stay open. One query for all of them, twice a second, only while there are
 * any; a credential that was deleted or has expired aborts the signals that were handed out for it.
 */
@Injectable()
export class OpenCredentials implements OnApplicationShutdown {
  private readonly logger = new Logger(OpenCredentials.name);
  private readonly watched = new Map<string, Set<() => void>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly repository: ApiKeyRepository) {}

  /** Calls `onRevoked` once when the caller's credential stops being valid. Returns the function that ends the watch. */
  watch(caller: Principal, onRevoked: () => void): () => void {
    const listeners = this.watched.get(caller.apiKeyId) ?? new Set();
    listeners.add(onRevoked);
    this.watched.set(caller.apiKeyId, listeners);
    this.timer ??= setTimeout(() => void this.check(), CHECK_EVERY_MS);
    return () => {
      listeners.delete(onRevoked);
      if (listeners.size === 0) this.watched.delete(caller.apiKeyId);
    };
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
    this.watched.clear();
  }

  private async check(): Promise<void> {
    const ids = [...this.watched.keys()];
    try {
      const usable = ids.length === 0 ? new Set<string>() : await this.repository.findUsableIds(ids);
      for (const id of ids) if (!usable.has(id)) this.revoke(id);
    } catch (error) {
      // While the database is away nobody can tell: streams stay open, new requests are refused elsewhere.
      this.logger.warn(`Open credentials could not be checked: ${(error as Error).message}`);
    }
    this.timer = this.watched.size === 0 ? undefined : setTimeout(() => void this.check(), CHECK_EVERY_MS);
  }

  private revoke(id: string): void {
    const listeners = this.watched.get(id) ?? new Set();
    this.watched.delete(id);
    for (const onRevoked of listeners) onRevoked();
  }
}
