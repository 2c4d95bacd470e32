import { Injectable, Logger } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { EntityManager } from 'typeorm';
import { BrowserSessionRepository } from '../identity/browser-sessions/browser-session.repository.js';
import { BrowserSessions } from '../identity/browser-sessions/browser-sessions.js';
import { CSRF_HEADER, CsrfTokens } from '../identity/browser-sessions/csrf-tokens.js';
import { DomainError } from '../core/domain-error.js';
import { mapMaybePromise } from '../core/map-maybe-promise.js';
import { type PermissionMap, permissionsDigest } from '../core/permissions.js';
import { type Principal, principalOrganization } from '../core/principal.js';
import { ReadThroughCache } from '../core/read-through-cache.js';
import { isSlug } from '../core/config/settings.js';
import { type CredentialSource, VerifiesCredentials } from '../identity/credentials/credential-source.js';
import { permissionsOfMember } from '../identity/organizations/member-rights.js';
import { type FoundSession, SessionMembersRepository, type SessionMember } from './session-members.repository.js';

/** Signing out must take effect within a second in every process, so sessions are cached for slightly less. */
const CACHED_MS = 900;
const MAX_ENTRIES = 10_000;
const MAX_QUERIES = 2;
const MAX_SESSIONS_PER_QUERY = 1_000;

/** A session that is open; without a principal if its person is no member of the organization. */
interface OpenSession {
  readonly principal: Principal | undefined;
}

/**
 * Accepts signed-in browsers as callers of the API: the cookie of the session together with the CSRF token in a header,
 * which pages of other origins cannot send. The cookie alone is no credential.
 */
@Injectable()
@VerifiesCredentials('browser_session')
export class BrowserSessionVerifier implements CredentialSource {
  private readonly logger = new Logger(BrowserSessionVerifier.name);
  /** By hash of the cookie and slug of the organization, with a space between them. */
  private readonly open: ReadThroughCache<OpenSession>;

  constructor(
    private readonly browsers: BrowserSessions,
    private readonly csrf: CsrfTokens,
    private readonly members: SessionMembersRepository,
    private readonly stored: BrowserSessionRepository,
  ) {
    this.open = new ReadThroughCache((keys) => this.read(keys), {
      ttlMs: CACHED_MS,
      maxEntries: MAX_ENTRIES,
      maxMissing: MAX_ENTRIES,
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_SESSIONS_PER_QUERY,
    });
  }

  /** A session is no bearer token. */
  keyOf(): undefined {
    return undefined;
  }

  /** @throws DomainError `csrf_invalid` */
  keyOfRequest(request: FastifyRequest): string | undefined {
    if (request.headers[CSRF_HEADER] === undefined) return undefined;
    const secretHash = this.browsers.hashOf(request);
    if (secretHash !== undefined) this.csrf.requireValid(request);
    return secretHash;
  }

  /**
   * @param org decides which membership of the person counts
   * @throws DomainError `credential_invalid`, `organization_mismatch`
   */
  verify(secretHash: string, org = ''): Principal | Promise<Principal> {
    const slug = isSlug(org) ? org : '';
    return mapMaybePromise(this.open.get(`${secretHash} ${slug}`), (session) => {
      if (session === undefined) throw new DomainError('credential_invalid');
      if (session.principal !== undefined) return session.principal;
      throw new DomainError('organization_mismatch', 'The credential does not belong to the organization in the path.');
    });
  }

  async findUsable(ids: readonly string[], manager?: EntityManager): Promise<ReadonlyMap<string, PermissionMap>> {
    const found = await this.members.findRights(ids.map(parseCredentialId), manager);
    return new Map(found.map((rights) => [credentialIdOf(rights), permissionsOfMember(rights)]));
  }

  private async read(keys: readonly string[]): Promise<ReadonlyMap<string, OpenSession>> {
    const found = await this.members.findOpen(keys.map(parseKey));
    this.noteUse(found);
    return new Map(
      found.map((session) => [
        `${session.secretHash} ${session.slug}`,
        { principal: session.role === null ? undefined : toPrincipal(session) },
      ]),
    );
  }

  private noteUse(sessions: readonly FoundSession[]): void {
    const stale = sessions.filter(({ isStale }) => isStale).map(({ sessionId }) => sessionId);
    if (stale.length === 0) return;
    this.stored.touch(stale).catch((error: Error) => {
      this.logger.warn(`Failed to record the use of a browser session: ${error.message}`);
    });
  }
}

function toPrincipal(member: SessionMember): Principal {
  const permissions = permissionsOfMember(member);
  return {
    kind: 'browser_session',
    credentialId: credentialIdOf(member),
    callerId: `${member.userId}:console`,
    organization: principalOrganization(member.organizationId, member.organizationSlug, member.limits),
    runAccess: member.runAccess,
    userId: member.userId,
    apiKeyId: null,
    grantId: null,
    clientId: null,
    permissions,
    permissionsDigest: permissionsDigest(permissions),
  };
}

function parseKey(key: string) {
  const [secretHash = '', slug = ''] = key.split(' ');
  return { secretHash, slug };
}

function credentialIdOf({ sessionId, organizationId }: { sessionId: string; organizationId: string }): string {
  return `${sessionId}:${organizationId}`;
}

function parseCredentialId(id: string) {
  const [sessionId = '', organizationId = ''] = id.split(':');
  return { sessionId, organizationId };
}
