import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import { databaseDate, databaseNow } from '../../core/database-time.js';
import { DomainError } from '../../core/domain-error.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import { type Principal, principalOrganization } from '../../core/principal.js';
import { ReadThroughCache } from '../../core/read-through-cache.js';
import { ApiKeyVerifier } from '../api-keys/api-key.verifier.js';
import { type CredentialSource, VerifiesCredentials } from '../credentials/credential-source.js';
import { permissionsDigest } from '../../core/permissions.js';
import { type ActiveClientToken, type ActiveToken, OauthGrantsRepository } from './oauth-grants.repository.js';
import { recordId } from './records/oauth-records.repository.js';

/** Starts every access and refresh token; 256 random bits in base64url follow. */
export const OAUTH_TOKEN_PREFIX = 'sbo_';

const FORMAT = /^sbo_[A-Za-z0-9_-]{43}$/;

/** True if the text has the form of an access token of this service. */
function isOauthToken(value: string): boolean {
  return FORMAT.test(value);
}

/** A revocation in another process must take effect within a second, so tokens are cached for slightly less. */
const CACHED_MS = 900;
const LAST_USE_RESOLUTION_MS = 60_000;
const MAX_ENTRIES = 10_000;
const MAX_QUERIES = 2;
const MAX_TOKENS_PER_QUERY = 1_000;

type Expiring<T> = T & { readonly expiresAt: Date };

/** Verifies the opaque access tokens of the authorization server. Caches them as `ApiKeyVerifier` caches keys. */
@Injectable()
@VerifiesCredentials('oauth')
export class AccessTokenVerifier implements CredentialSource {
  private readonly logger = new Logger(AccessTokenVerifier.name);
  private readonly tokens: ReadThroughCache<Expiring<Principal> | ActiveClientToken>;
  /** The ids of grants whose use was recorded recently. */
  private readonly recordedUses = new LRUCache<string, true>({
    max: MAX_ENTRIES,
    ttl: LAST_USE_RESOLUTION_MS,
    ttlResolution: 1_000,
  });

  constructor(
    private readonly grants: OauthGrantsRepository,
    private readonly apiKeys: ApiKeyVerifier,
  ) {
    const read = async (ids: readonly string[]) => {
      const found = await grants.findTokens(ids);
      return new Map([...found].map(([id, token]) => [id, 'keyHash' in token ? token : toPrincipal(token)]));
    };
    this.tokens = new ReadThroughCache(read, {
      ttlMs: CACHED_MS,
      maxEntries: MAX_ENTRIES,
      maxMissing: MAX_ENTRIES,
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_TOKENS_PER_QUERY,
    });
  }

  keyOf(token: string): string | undefined {
    return isOauthToken(token) ? recordId('AccessToken', token) : undefined;
  }

  /** @throws DomainError `credential_invalid` or `credential_expired` */
  verify(key: string): Principal | Promise<Principal> {
    return mapMaybePromise(this.tokens.get(key), (found) => {
      if (found === undefined) throw new DomainError('credential_invalid');
      if (found.expiresAt.getTime() <= databaseNow()) throw new DomainError('credential_expired');
      if ('keyHash' in found) return this.principalOfClient(found);
      this.noteUse(found.credentialId);
      return found;
    });
  }

  findUsable(ids: readonly string[], manager?: EntityManager): ReturnType<CredentialSource['findUsable']> {
    return this.grants.findUsable(ids, manager);
  }

  /** The client has the rights of its key, as narrow as the token. */
  private principalOfClient({ keyHash, clientId, resource, scopes }: ActiveClientToken) {
    return mapMaybePromise(this.apiKeys.verify(keyHash), (key) => ({ ...key, clientId, resource, scopes }));
  }

  private noteUse(grantId: string): void {
    if (this.recordedUses.has(grantId)) return;
    this.recordedUses.set(grantId, true);
    this.grants.touch(grantId, databaseDate()).catch((error: Error) => {
      this.logger.warn(`Failed to record the last use of an OAuth grant: ${error.message}`);
    });
  }
}

/** A response that stays open belongs to the grant, so it survives the refresh of its token. */
function toPrincipal(token: ActiveToken): Expiring<Principal> {
  return {
    kind: 'oauth',
    credentialId: token.grantId,
    callerId: `${token.userId}:${token.clientId}`,
    organization: principalOrganization(token.organizationId, token.organizationSlug, token.limits),
    runAccess: token.runAccess,
    userId: token.userId,
    apiKeyId: null,
    grantId: token.grantId,
    clientId: token.clientId,
    resource: token.resource,
    scopes: token.scopes,
    permissions: token.permissions,
    permissionsDigest: permissionsDigest(token.permissions),
    expiresAt: token.expiresAt,
  };
}
