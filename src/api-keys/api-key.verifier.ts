import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../common/domain-error.js';
import { mapMaybePromise } from '../common/map-maybe-promise.js';
import type { Principal } from '../common/principal.js';
import { ReadThroughCache } from '../common/read-through-cache.js';
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
 * Verifies presented keys. Keeps what it read for less than a second, and concurrent requests share one read. Guesses
 * displace no key that is in use.
 */
@Injectable()
export class ApiKeyVerifier {
  private readonly logger = new Logger(ApiKeyVerifier.name);
  private readonly keys: ReadThroughCache<ActiveApiKey>;
  /** The ids of keys whose use was recorded lately. */
  private readonly recordedUses = new LRUCache<string, true>({
    max: MAX_ENTRIES,
    ttl: LAST_USE_RESOLUTION_MS,
    ttlResolution: 1_000,
  });

  constructor(private readonly repository: ApiKeyRepository) {
    this.keys = new ReadThroughCache((hashes) => repository.findForAuthentication(hashes), {
      ttlMs: BELIEVED_MS,
      maxEntries: MAX_ENTRIES,
      maxMissing: MAX_ENTRIES,
      weight: { max: MAX_PERMISSION_BYTES, of: (key) => key.permissionBytes },
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_KEYS_PER_QUERY,
    });
  }

  /**
   * The principal that a key stands for; a promise only when the key has to be read.
   * @param hash of a well-formed key value
   * @throws DomainError `credential_invalid` or `credential_expired`
   */
  verify(hash: string): Principal | Promise<Principal> {
    return mapMaybePromise(this.keys.get(hash), (key) => this.principalOf(key));
  }

  /** Drops what is remembered of a key that was made, changed or deleted in this process. */
  forget(hash: string): void {
    this.keys.forget(hash);
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
    if (this.recordedUses.has(id)) return;
    this.recordedUses.set(id, true);
    this.repository.touch(id, new Date()).catch((error: Error) => {
      this.logger.warn(`The last use of an API key was not recorded: ${error.message}`);
    });
  }
}
