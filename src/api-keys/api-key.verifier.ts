import { Injectable, Logger } from '@nestjs/common';
import { BriefMemory } from '../common/brief-memory.js';
import { DomainError } from '../common/domain-error.js';
import { GatheredReads } from '../common/gathered-reads.js';
import { mapMaybePromise } from '../common/map-maybe-promise.js';
import type { Principal } from '../common/principal.js';
import { type ActiveApiKey, ApiKeyRepository } from './api-key.repository.js';

/** A deletion in another process must be seen within a second, so a key is believed for a little less. */
const BELIEVED_MS = 900;
const LAST_USE_RESOLUTION_MS = 60_000;
const MAX_ENTRIES = 10_000;
/** Whatever is presented, so many queries look for keys at once, each for so many keys. */
const MAX_QUERIES = 2;
const MAX_KEYS_PER_QUERY = 1_000;
/** Of the permission maps that are remembered, as JSON. */
const MAX_PERMISSION_BYTES = 16 * 1_048_576;

/**
 * Verifies presented keys. Keeps what it read for less than a second, and concurrent requests share one read. Unknown keys
 * are kept apart from the others, so that guesses displace no key that is in use.
 */
@Injectable()
export class ApiKeyVerifier {
  private readonly logger = new Logger(ApiKeyVerifier.name);
  private readonly keys = new BriefMemory<ActiveApiKey | undefined>(BELIEVED_MS, MAX_ENTRIES, {
    max: MAX_PERMISSION_BYTES,
    of: (key) => key?.permissionBytes ?? 0,
  });
  private readonly unknown = new BriefMemory<undefined>(BELIEVED_MS, MAX_ENTRIES);
  private readonly reads: GatheredReads<ActiveApiKey>;
  /** Key id → when its use was last recorded, in milliseconds since the epoch. */
  private readonly recordedUses = new Map<string, number>();

  constructor(private readonly repository: ApiKeyRepository) {
    this.reads = new GatheredReads(
      (hashes) => repository.findForAuthentication(hashes),
      MAX_QUERIES,
      MAX_KEYS_PER_QUERY,
    );
  }

  /**
   * The principal that a key stands for; a promise only when the key has to be read.
   * @param hash of a well-formed key value
   * @throws DomainError `credential_invalid` or `credential_expired`
   */
  verify(hash: string): Principal | Promise<Principal> {
    if (this.unknown.has(hash)) throw new DomainError('credential_invalid');
    return mapMaybePromise(
      this.keys.get(hash, () => this.read(hash)),
      (key) => this.principalOf(key),
    );
  }

  /** Drops what is remembered of a key that was made, changed or deleted in this process. */
  forget(hash: string): void {
    this.keys.forget(hash);
    this.unknown.forget(hash);
  }

  private async read(hash: string): Promise<ActiveApiKey | undefined> {
    const key = await this.reads.read(hash);
    if (key === undefined) {
      this.keys.forget(hash);
      this.unknown.set(hash, undefined);
    }
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
      permissionsDigest: key.permissionsDigest,
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
