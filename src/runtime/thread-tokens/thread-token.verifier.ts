import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { databaseNow } from '../../core/database-time.js';
import { DomainError } from '../../core/domain-error.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import {
  type PermissionMap,
  allows,
  ANY,
  intersectionOf,
  SELF,
  declarePermissions,
  permissionsDigest,
} from '../../core/permissions.js';
import { type Principal, principalOrganization, type ThreadPermission } from '../../core/principal.js';
import { ReadThroughCache } from '../../core/read-through-cache.js';
import { hashSecret, SecretForm } from '../../core/secret-form.js';
import {
  type CredentialSource,
  VerifiesCredentials,
  CredentialSources,
} from '../../identity/credentials/credential-source.js';
import { type StoredThreadToken, ThreadTokenRepository } from './thread-token.repository.js';

/** The form of browser tokens: `sbt_` and 49 characters. */
export const THREAD_TOKEN = new SecretForm('sbt_');

/** The end of the maker's credential must take effect within a second, so tokens are cached for slightly less. */
const CACHED_MS = 900;
const MAX_ENTRIES = 10_000;
const MAX_QUERIES = 2;
const MAX_TOKENS_PER_QUERY = 1_000;

/** A token whose maker's credential is still valid. */
interface UsableToken {
  readonly expiresAt: number;
  readonly principal: Principal;
}

/**
 * Verifies browser tokens. A token acts as the credential that made it, narrowed to one thread: when that credential
 * ends, or loses permissions, so does the token.
 */
@Injectable()
@VerifiesCredentials('thread_token')
export class ThreadTokenVerifier implements CredentialSource {
  private readonly tokens: ReadThroughCache<UsableToken>;

  constructor(
    private readonly repository: ThreadTokenRepository,
    private readonly sources: CredentialSources,
  ) {
    this.tokens = new ReadThroughCache((hashes) => this.findForAuthentication(hashes), {
      ttlMs: CACHED_MS,
      maxEntries: MAX_ENTRIES,
      maxMissing: MAX_ENTRIES,
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_TOKENS_PER_QUERY,
    });
  }

  keyOf(token: string): string | undefined {
    return THREAD_TOKEN.matches(token) ? hashSecret(token) : undefined;
  }

  /** @throws DomainError `credential_invalid` or `credential_expired` */
  verify(hash: string): Principal | Promise<Principal> {
    return mapMaybePromise(this.tokens.get(hash), (token) => {
      if (token === undefined) throw new DomainError('credential_invalid');
      if (token.expiresAt <= databaseNow()) throw new DomainError('credential_expired');
      return token.principal;
    });
  }

  async findUsable(ids: readonly string[], manager?: EntityManager): Promise<ReadonlyMap<string, PermissionMap>> {
    const usable = await this.withPermissions(await this.repository.findUnexpired(ids, manager), manager);
    return new Map(usable.map(({ token, permissions }) => [token.id, permissions]));
  }

  private async findForAuthentication(hashes: readonly string[]): Promise<ReadonlyMap<string, UsableToken>> {
    const usable = await this.withPermissions(await this.repository.findByHash(hashes));
    return new Map(
      usable.map(({ token, permissions }) => [
        token.tokenHash,
        { expiresAt: token.expiresAt.getTime(), principal: toPrincipal(token, permissions) },
      ]),
    );
  }

  /** Leaves out the tokens whose maker's credential is no longer valid. */
  private async withPermissions(tokens: readonly StoredThreadToken[], manager?: EntityManager) {
    const byKind = [...Map.groupBy(tokens, ({ makerKind }) => makerKind)];
    const found = await Promise.all(
      byKind.map(async ([kind, ofKind]) => {
        const ids = [...new Set(ofKind.map(({ makerId }) => makerId))];
        const makers = await this.sources.sourceOf(kind)?.findUsable(ids, manager);
        return ofKind.map((token) => ({ token, maker: makers?.get(token.makerId) }));
      }),
    );
    return found
      .flat()
      .flatMap(({ token, maker }) =>
        maker === undefined ? [] : [{ token, permissions: permissionsOfToken(maker, token) }],
      );
  }
}

function toPrincipal(token: StoredThreadToken, permissions: PermissionMap): Principal {
  return {
    kind: 'thread_token',
    credentialId: token.id,
    callerId: token.callerId,
    organization: principalOrganization(token.organizationId, token.organizationSlug, token.limits),
    runAccess: token.runAccess,
    userId: token.userId,
    apiKeyId: token.apiKeyId,
    ...(token.keyLimits !== null && { keyLimits: token.keyLimits }),
    grantId: token.grantId,
    clientId: token.clientId,
    ...(token.resource !== null && { resource: token.resource }),
    ...(token.scopes !== null && { scopes: token.scopes }),
    thread: { id: token.threadId, permissions: token.permissions },
    permissions,
    permissionsDigest: permissionsDigest(permissions),
  };
}

interface ToolsOfPermission {
  /** The maker of a token must hold all of these. */
  readonly required: readonly string[];
  /** A token has those of these that its maker holds. */
  readonly optional: readonly string[];
}

const NONE: ToolsOfPermission = { required: [], optional: [] };

/** What each permission of a token needs in the list `self`: management tools, and the word for approvals. */
const SELF_PERMISSIONS: Readonly<Record<ThreadPermission, ToolsOfPermission>> = {
  post: NONE,
  cancel: NONE,
  read: { required: ['COLLECTION_THREADS_GET', 'COLLECTION_THREAD_MESSAGES_LIST'], optional: ['RUN_GET'] },
  approve: { required: ['RUN_APPROVE'], optional: [] },
};

declarePermissions('RUN_APPROVE');

/**
 * Checks that the maker of a token holds what the token is to open.
 * @throws DomainError `permission_widening`
 */
export function requireHeld(maker: PermissionMap, permissions: readonly ThreadPermission[]): void {
  const missing = permissions
    .flatMap((each) => SELF_PERMISSIONS[each].required)
    .filter((name) => !allows(maker, SELF, name));
  if (missing.length === 0) return;
  throw new DomainError(
    'permission_widening',
    `The caller cannot grant permissions that it does not hold: ${missing.map((name) => `self:${name}`).join(', ')}.`,
  );
}

/** The permission map of a token: what it opens, as far as its maker holds it now. */
function permissionsOfToken(
  maker: PermissionMap,
  { permissions, agentId }: { readonly permissions: readonly ThreadPermission[]; readonly agentId: string },
): PermissionMap {
  const tools = permissions.flatMap((each) => [...SELF_PERMISSIONS[each].required, ...SELF_PERMISSIONS[each].optional]);
  const held = intersectionOf({ [SELF]: tools, [agentId]: [ANY] }, maker);
  return { [SELF]: held[SELF] ?? [], [agentId]: held[agentId] ?? [] };
}
