import { Injectable, Logger } from '@nestjs/common';
import { BriefMemory } from '../common/brief-memory.js';
import { DomainError } from '../common/domain-error.js';
import { onceThere } from '../common/once-there.js';
import type { Principal } from '../common/principal.js';
import { type ActiveApiKey, ApiKeyRepository } from './api-key.repository.js';

/** A deletion in another process must be seen within a second, so a key is believed for a little less. */
const BELIEVED_MS = 900;
const LAST_USE_RESOLUTION_MS = 60_000;
const MAX_ENTRIES = 10_000;

/** Verifies presented keys. Keeps what it read for less than a second, and concurrent requests share one read. */
@Injectable()
export class ApiKeyVerifier {
  private readonly logger = new Logger(ApiKeyVerifier.name);
  private readonly keys = new BriefMemory<ActiveApiKey | undefined>(BELIEVED_MS, MAX_ENTRIES);
  /** Key id → when its use was last recorded, in milliseconds since the epoch. */
  private readonly recordedUses = new Map<string, number>();

  constructor(private readonly repository: ApiKeyRepository) {}

  /**
   * The principal that a key stands for; a promise only when the key has to be read.
   * @param hash of a well-formed key value
   * @throws DomainError `credential_invalid` or `credential_expired`
   */
  verify(hash: string): Principal | Promise<Principal> {
    return onceThere(
      this.keys.get(hash, () => this.read(hash)),
      (key) => this.principalOf(key),
    );
  }

  /** Drops what is remembered of a key that was changed or deleted in this process. */
  forget(hash: string): void {
    this.keys.forget(hash);
  }

  private async read(hash: string): Promise<ActiveApiKey | undefined> {
    const key = await this.repository.findForAuthentication(hash);
    // Guesses must not fill the memory, and a key that was just made counts at once.
    if (key === undefined) this.keys.forget(hash);
    return key;
  }

  private principalOf(key: ActiveApiKey | undefined): Principal {
    if (key === undefined) throw new DomainError('credential_invalid');
    if (key.expiresAt !== null && key.expiresAt.getTime() <= Date.now()) throw new DomainError('credential_expired');
    this.noteUse(key.id);
    return {
      kind: 'api_key',
      organization: { id: key.organizationId, slug: key.organizationSlug },
      userId: key.userId,
      apiKeyId: key.id,
      permissions: key.permissions,
    };
  }

  /** `last_used_at` is kept to the minute: a write per request would cost more than it tells. */
  private noteUse(id: string): void {
    const now = Date.now();
    if (now - (this.recordedUses.get(id) ?? 0) < LAST_USE_RESOLUTION_MS) return;
    if (this.recordedUses.size >= MAX_ENTRIES) this.recordedUses.clear();
    this.recordedUses.set(id, now);
    this.repository.touch(id, new Date(now)).catch((error: Error) => {
      this.logger.warn(`The last use of an API key was not recorded: ${error.message}`);
    });
  }
}
