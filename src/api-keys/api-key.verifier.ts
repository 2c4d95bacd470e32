import { Injectable, Logger } from '@nestjs/common';
import { DomainError } from '../common/domain-error.js';
import type { Principal } from '../common/principal.js';
import { type ActiveApiKey, ApiKeyRepository } from './api-key.repository.js';

/** A deletion in another process must be seen within a second, so a key is believed for a little less. */
const BELIEVED_MS = 900;
const LAST_USE_RESOLUTION_MS = 60_000;
const MAX_ENTRIES = 10_000;

interface Entry {
  loadedAt: number;
  key: Promise<ActiveApiKey | undefined>;
  touchedAt: number;
}

/** Verifies presented keys. Keeps what it read for less than a second, and concurrent requests share one read. */
@Injectable()
export class ApiKeyVerifier {
  private readonly logger = new Logger(ApiKeyVerifier.name);
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly repository: ApiKeyRepository) {}

  /**
   * The principal that a key stands for.
   * @param hash of a well-formed key value
   * @throws DomainError `credential_invalid` or `credential_expired`
   */
  async verify(hash: string): Promise<Principal> {
    const entry = this.entryOf(hash);
    const key = await entry.key;
    if (key === undefined) throw new DomainError('credential_invalid');
    if (key.expiresAt !== null && key.expiresAt.getTime() <= Date.now()) throw new DomainError('credential_expired');
    this.noteUse(entry, key.id);
    return {
      kind: 'api_key',
      organization: { id: key.organizationId, slug: key.organizationSlug },
      userId: key.userId,
      apiKeyId: key.id,
      permissions: key.permissions,
    };
  }

  /** Drops what is remembered of a key that was changed or deleted in this process. */
  forget(hash: string): void {
    this.entries.delete(hash);
  }

  private entryOf(hash: string): Entry {
    const now = Date.now();
    const known = this.entries.get(hash);
    if (known !== undefined && now - known.loadedAt < BELIEVED_MS) return known;
    if (this.entries.size >= MAX_ENTRIES) this.entries.clear();
    const key = this.repository.findForAuthentication(hash);
    const entry = { loadedAt: now, key, touchedAt: known?.touchedAt ?? 0 };
    this.entries.set(hash, entry);
    key.then(
      (found) => found === undefined && this.entries.delete(hash),
      () => this.entries.delete(hash),
    );
    return entry;
  }

  /** `last_used_at` is kept to the minute: a write per request would cost more than it tells. */
  private noteUse(entry: Entry, id: string): void {
    const now = Date.now();
    if (now - entry.touchedAt < LAST_USE_RESOLUTION_MS) return;
    entry.touchedAt = now;
    this.repository.touch(id, new Date(now)).catch((error: Error) => {
      this.logger.warn(`The last use of an API key was not recorded: ${error.message}`);
    });
  }
}
