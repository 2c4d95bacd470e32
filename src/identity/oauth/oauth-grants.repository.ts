import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { OrganizationLimits } from '../../core/limits.js';
import type { PermissionMap } from '../../core/permissions.js';
import type { RunAccess } from '../../core/principal.js';
import {
  joinMemberRights,
  MEMBER_RIGHTS_COLUMNS,
  type MemberRights,
  permissionsOfMember,
} from '../organizations/member-rights.js';
import { OauthGrantEntity } from './records/oauth-grant.entity.js';

/** What the access token of a person opens. */
export interface ActiveToken {
  grantId: string;
  organizationId: string;
  organizationSlug: string;
  runAccess: RunAccess;
  limits: OrganizationLimits;
  userId: string;
  clientId: string;
  resource: string;
  scopes: readonly string[];
  permissions: PermissionMap;
  expiresAt: Date;
}

/** The access token of a client that acts for itself, with the rights of an API key. */
export interface ActiveClientToken extends Pick<ActiveToken, 'clientId' | 'resource' | 'scopes' | 'expiresAt'> {
  keyHash: string;
}

type TokenRow = Omit<ActiveToken, 'permissions' | 'scopes'> &
  MemberRights & { id: string; scope: string | null; keyHash: string | null };

/** A consent that a person gave earlier. */
type RememberedConsent = Pick<OauthGrantEntity, 'userId' | 'clientId' | 'resource'>;

/** A grant with the address of its person. */
export type NamedGrant = OauthGrantEntity & { userEmail: string };

/** How many grants a list holds. */
const MAX_LISTED = 1_000;

/** The grants of people to clients, and the tokens that stand for them. */
@Injectable()
export class OauthGrantsRepository {
  constructor(@InjectRepository(OauthGrantEntity) private readonly grants: Repository<OauthGrantEntity>) {}

  async insert(grant: Omit<OauthGrantEntity, 'lastUsedAt' | 'createdAt'>): Promise<void> {
    await this.grants.insert(grant);
  }

  /** The scope that the person has allowed this client for this resource, if the consent counts for later sign-ins. */
  async findRemembered(consent: RememberedConsent): Promise<OauthGrantEntity | null> {
    return this.grants.findOne({ where: { ...consent, isRemembered: true }, order: { createdAt: 'DESC' } });
  }

  /**
   * The tokens with these record ids (`recordId`), by id: of grants whose person is still a member, and of clients that
   * act for themselves and still exist.
   */
  async findTokens(ids: readonly string[]): Promise<Map<string, ActiveToken | ActiveClientToken>> {
    const rows: TokenRow[] = await this.grants.query(
      `SELECT t.id, t.scope, t.expires_at AS "expiresAt", g.id AS "grantId", g.organization_id AS "organizationId",
              o.slug AS "organizationSlug", o.run_access AS "runAccess", o.limits, g.user_id AS "userId",
              coalesce(g.client_id, t.client_id) AS "clientId", coalesce(g.resource, t.resource) AS resource,
              key.key_hash AS "keyHash", ${MEMBER_RIGHTS_COLUMNS}
         FROM oauth_records t
         LEFT JOIN oauth_grants g ON g.id = t.grant_id
         LEFT JOIN organizations o ON o.id = g.organization_id ${joinMemberRights('g')}
         LEFT JOIN oauth_clients client ON t.model = 'ClientCredentials' AND client.client_id = t.client_id
         LEFT JOIN api_keys key ON key.id = client.api_key_id
        WHERE t.id = ANY($1)
          AND (t.model = 'AccessToken' AND members.user_id IS NOT NULL OR key.id IS NOT NULL)`,
      [ids],
    );
    return new Map(rows.map((row) => [row.id, toActiveToken(row)]));
  }

  /** The permissions behind those of the grants that exist and whose person is still a member, by grant. */
  async findUsable(
    ids: readonly string[],
    manager: EntityManager = this.grants.manager,
  ): Promise<Map<string, PermissionMap>> {
    const rows: (MemberRights & { id: string })[] = await manager.query(
      `SELECT g.id, ${MEMBER_RIGHTS_COLUMNS}
         FROM oauth_grants g JOIN organizations o ON o.id = g.organization_id ${joinMemberRights('g')}
        WHERE g.id = ANY($1) AND members.user_id IS NOT NULL`,
      [ids],
    );
    return new Map(rows.map(({ id, ...rights }) => [id, permissionsOfMember(rights)]));
  }

  /** The newest grants of the organization. @param userId only those of this person */
  findOfOrganization(organizationId: string, userId: string | undefined): Promise<NamedGrant[]> {
    return this.grants.query(
      `SELECT g.id, g.user_id AS "userId", coalesce(users.email, '') AS "userEmail", g.client_id AS "clientId",
              g.client_name AS "clientName", g.resource, g.scope, g.last_used_at AS "lastUsedAt",
              g.created_at AS "createdAt"
         FROM oauth_grants g JOIN users ON users.id = g.user_id
        WHERE g.organization_id = $1 AND ($2::uuid IS NULL OR g.user_id = $2)
        ORDER BY g.created_at DESC, g.id DESC LIMIT ${MAX_LISTED}`,
      [organizationId, userId ?? null],
    );
  }

  /**
   * Deletes a grant with its tokens; its API keys go with it. Returns undefined if there is no such grant.
   * @param userId only if it belongs to this person
   */
  async revoke(
    organizationId: string,
    id: string,
    userId: string | undefined,
  ): Promise<Pick<OauthGrantEntity, 'clientName'> | undefined> {
    const [revoked]: { clientName: string }[] = await this.grants.query(
      `WITH gone AS (
         DELETE FROM oauth_grants WHERE organization_id = $1 AND id = $2 AND ($3::uuid IS NULL OR user_id = $3)
         RETURNING id, client_name
       ), tokens AS (DELETE FROM oauth_records WHERE grant_id IN (SELECT id FROM gone) OR id IN (SELECT id FROM gone))
       SELECT client_name AS "clientName" FROM gone`,
      [organizationId, id, userId ?? null],
    );
    return revoked;
  }

  /** Deletes all grants of a person; tokens without a grant open nothing. */
  async deleteOfPerson(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(OauthGrantEntity, { userId });
  }

  async touch(id: string, at: Date): Promise<void> {
    await this.grants.update({ id }, { lastUsedAt: at });
  }
}

function toActiveToken({ keyHash, ...row }: TokenRow): ActiveToken | ActiveClientToken {
  const { scope, role, rolePermissions, memberPermissions, ...token } = row;
  const scopes = scope?.split(' ') ?? [];
  if (keyHash === null) {
    return { ...token, scopes, permissions: permissionsOfMember({ role, rolePermissions, memberPermissions }) };
  }
  const { clientId, resource, expiresAt } = token;
  return { keyHash, clientId, resource, scopes, expiresAt };
}
