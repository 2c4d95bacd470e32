import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import { databaseDate } from '../../core/database-time.js';
import { hashApiKey, isWellFormedApiKey } from '../../core/api-key-value.js';
import { DomainError } from '../../core/domain-error.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import { type Principal, principalOrganization } from '../../core/principal.js';
import { ReadThroughCache } from '../../core/read-through-cache.js';
import { type CredentialSource, VerifiesCredentials } from '../credentials/credential-source.js';
import { type ActiveApiKey, ApiKeyRepository } from './api-key.repository.js';
import { hasExpired } from './key-rights.js';

/** A deletion in another process must take effect within a second, so keys are cached for slightly less. */
const CACHED_MS = 900;
const LAST_USE_RESOLUTION_MS = 60_000;
const MAX_ENTRIES = 10_000;
/** Limits of concurrent lookup queries and of keys per query, regardless of the number of callers. */
const MAX_QUERIES = 2;
const MAX_KEYS_PER_QUERY = 1_000;
/** Total size of the cached permission maps, as JSON. */
const MAX_PERMISSION_BYTES = 16 * 1_048_576;

/**
 * Verifies API keys. Caches keys for less than a second; concurrent requests share one read. Unknown keys have a
 * separate cache, so that guesses do not evict keys in use.
 */
@Injectable()
@VerifiesCredentials('api_key')
export class ApiKeyVerifier implements CredentialSource {
  private readonly logger = new Logger(ApiKeyVerifier.name);
  private readonly keys: ReadThroughCache<ActiveApiKey>;
  /** The ids of keys whose use was recorded recently. */
  private readonly recordedUses = new LRUCache<string, true>({
    max: MAX_ENTRIES,
    ttl: LAST_USE_RESOLUTION_MS,
    ttlResolution: 1_000,
  });

  constructor(private readonly repository: ApiKeyRepository) {
    this.keys = new ReadThroughCache((hashes) => repository.findForAuthentication(hashes), {
      ttlMs: CACHED_MS,
      maxEntries: MAX_ENTRIES,
      maxMissing: MAX_ENTRIES,
      weight: { max: MAX_PERMISSION_BYTES, of: (key) => key.permissionBytes },
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_KEYS_PER_QUERY,
    });
  }

  /** The hash of a key. Its checksum detects typing errors without a database query. */
  keyOf(token: string): string | undefined {
    return isWellFormedApiKey(token) ? hashApiKey(token) : undefined;
  }

  /**
   * The principal of a key. Returns a promise only if the key is not cached.
   * @param hash of a well-formed key value
   * @throws DomainError `credential_invalid` or `credential_expired`
   */
  verify(hash: string): Principal | Promise<Principal> {
    return mapMaybePromise(this.keys.get(hash), (key) => this.principalOf(key));
  }

  findUsable(ids: readonly string[], manager?: EntityManager): ReturnType<CredentialSource['findUsable']> {
    return this.repository.findUsable(ids, manager);
  }

  /** What requests with the given keys would be made with, by id of the key; without deleted and expired keys. */
  async findPrincipals(ids: readonly string[]): Promise<ReadonlyMap<string, Principal>> {
    const keys = await this.repository.findUsableKeys(ids);
    return new Map(keys.map((key) => [key.id, toPrincipal(key)]));
  }

  /** Drops a key from the cache after this process has created, changed or deleted it. */
  forget(hash: string): void {
    this.keys.forget(hash);
  }

  private principalOf(key: ActiveApiKey | undefined): Principal {
    if (key === undefined) throw new DomainError('credential_invalid');
    if (hasExpired(key.expiresAt)) throw new DomainError('credential_expired');
    this.noteUse(key.id);
    return toPrincipal(key);
  }

  /** `last_used_at` has a resolution of one minute: a write per request would be too expensive. */
  private noteUse(id: string): void {
    if (this.recordedUses.has(id)) return;
    this.recordedUses.set(id, true);
    this.repository.touch(id, databaseDate()).catch((error: Error) => {
      this.logger.warn(`Failed to record the last use of an API key: ${error.message}`);
    });
  }
}

function toPrincipal(key: ActiveApiKey): Principal {
  return {
    kind: 'api_key',
    credentialId: key.id,
    callerId: key.id,
    organization: principalOrganization(key.organizationId, key.organizationSlug, key.limits),
    runAccess: key.runAccess,
    userId: key.userId,
    apiKeyId: key.id,
    ...(key.keyLimits !== null && { keyLimits: key.keyLimits }),
    grantId: key.grantId,
    clientId: null,
    ...(key.resource !== null && { resource: key.resource }),
    ...(key.scope !== null && { scopes: key.scope.split(' ') }),
    permissions: key.permissions,
    permissionsDigest: key.permissionsDigest,
  };
}
