import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import { type PermissionMap, permissionsDigest } from '../../core/permissions.js';
import { type Principal, principalOrganization } from '../../core/principal.js';
import { TtlCache } from '../../core/ttl-cache.js';
import { AppConfig } from '../../core/config/app-config.js';
import { type CredentialSource, VerifiesCredentials } from '../credentials/credential-source.js';
import { IssuerKeys } from './issuer-keys.js';
import { type FoundMember, IssuerMembersRepository } from './issuer-members.repository.js';
import { CLOCK_SKEW_S, type IssuerClaims, issuerNamedBy, verifyIssuerToken } from './issuer-token.js';
import { isLoopback } from '../../core/loopback.js';

/** The end of a membership must take effect within a second, so verified tokens are cached for slightly less. */
const CACHED_MS = 900;
const MAX_ENTRIES = 10_000;

/** A verified token: its principal, and the end of its validity in seconds since the epoch. */
interface VerifiedToken {
  readonly principal: Principal;
  readonly expiresAt: number;
}

/** Accepts the JWTs of `TRUSTED_ISSUERS` for the members whose e-mail address they name. */
@Injectable()
@VerifiesCredentials('issuer')
export class IssuerTokenVerifier implements CredentialSource {
  private readonly verified = new TtlCache<VerifiedToken>({ ttlMs: CACHED_MS, maxEntries: MAX_ENTRIES });

  constructor(
    private readonly config: AppConfig,
    private readonly keys: IssuerKeys,
    private readonly members: IssuerMembersRepository,
  ) {}

  /** The token itself, because its signature has to be verified. */
  keyOf(token: string): string | undefined {
    return this.issuerOf(token) === undefined ? undefined : token;
  }

  /**
   * @param org decides which membership of the person counts
   * @throws DomainError `credential_invalid`, `credential_expired`, `service_unavailable` while the issuer's keys
   *   cannot be read
   */
  verify(token: string, org?: string): Principal | Promise<Principal> {
    const found = this.verified.get(`${hash('sha256', token)} ${org ?? ''}`, () => this.read(token, org));
    return mapMaybePromise(found, ({ principal, expiresAt }) => {
      if (hasExpired(expiresAt)) throw new DomainError('credential_expired');
      return principal;
    });
  }

  async findUsable(ids: readonly string[], manager?: EntityManager): Promise<ReadonlyMap<string, PermissionMap>> {
    const asked = ids.map((id) => ({ id, ...parseCredentialId(id) })).filter(({ expiresAt }) => !hasExpired(expiresAt));
    const found = await this.members.findMemberships(asked, manager);
    const permissions = new Map(found.map((member) => [membershipId(member), member.permissions]));
    return new Map(
      asked.flatMap((membership) => {
        const held = permissions.get(membershipId(membership));
        return held === undefined ? [] : [[membership.id, held] as const];
      }),
    );
  }

  private async read(token: string, org: string | undefined): Promise<VerifiedToken> {
    const trusted = this.issuerOf(token);
    if (trusted === undefined) throw new DomainError('credential_invalid');
    const { keys } = this;
    const resourceOf = (audience: string) => resourcePathOf(audience, this.config.baseUrl);
    const claims = await verifyIssuerToken(token, trusted, { keys, resourceOf });
    const member = await this.members.findMember(claims.email, org);
    if (member === undefined) throw new DomainError('credential_invalid');
    return { principal: toPrincipal(member, claims, trusted.issuer), expiresAt: claims.expiresAt };
  }

  private issuerOf(token: string) {
    const { trustedIssuers } = this.config.settings;
    if (trustedIssuers.length === 0) return undefined;
    const named = issuerNamedBy(token);
    return trustedIssuers.find(({ issuer }) => issuer === named);
  }
}

function toPrincipal(member: FoundMember, claims: IssuerClaims, issuer: string): Principal {
  const { userId, organizationId, permissions } = member;
  return {
    kind: 'issuer',
    credentialId: `${userId}:${organizationId}:${claims.expiresAt}`,
    callerId: `${userId}:${claims.clientId ?? issuer}`,
    organization: principalOrganization(organizationId, member.organizationSlug, member.limits),
    runAccess: member.runAccess,
    userId,
    apiKeyId: null,
    grantId: null,
    clientId: claims.clientId,
    ...(claims.resource !== undefined && { resource: claims.resource }),
    ...(claims.scopes !== undefined && { scopes: claims.scopes }),
    permissions,
    permissionsDigest: permissionsDigest(permissions),
  };
}

function parseCredentialId(id: string) {
  const [userId = '', organizationId = '', expiresAt] = id.split(':');
  return { userId, organizationId, expiresAt: Number(expiresAt) };
}

function membershipId({ userId, organizationId }: { userId: string; organizationId: string }): string {
  return `${userId}:${organizationId}`;
}

function hasExpired(expiresAt: number): boolean {
  return expiresAt + CLOCK_SKEW_S <= Date.now() / 1000;
}

/** The API of an organization, or an MCP endpoint. */
const RESOURCE = /^\/api\/[^/]+(?:\/mcp\/(?:gateway\/)?[^/]+)?$|^\/mcp\/[^/]+$/;

/**
 * The path of the resource of this service that an audience names, in lower case and without a trailing slash;
 * undefined for any other text. A service on loopback has several names for itself.
 */
function resourcePathOf(audience: string, baseUrl: string): string | undefined {
  const url = URL.parse(audience);
  if (url === null || url.search !== '' || url.hash !== '') return undefined;
  const own = new URL(baseUrl);
  const isOwn = url.origin === own.origin || (isLoopback(url) && isLoopback(own) && url.port === own.port);
  const path = url.pathname.replace(/\/$/, '').toLowerCase();
  return isOwn && RESOURCE.test(path) ? path : undefined;
}
