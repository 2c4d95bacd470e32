import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { IS_OPEN, IS_STALE } from '../identity/browser-sessions/browser-session.repository.js';
import type { OrganizationLimits } from '../core/limits.js';
import type { RunAccess } from '../core/principal.js';
import { joinMemberRights, MEMBER_RIGHTS_COLUMNS, type MemberRights } from '../identity/organizations/member-rights.js';

/** A signed-in browser, and an organization that it wants to work in. */
interface SessionAt {
  /** SHA-256 of the session's cookie, in hex. */
  readonly secretHash: string;
  /** The slug of the organization. */
  readonly slug: string;
}

/** An open session in an organization of which its person is a member. */
export interface SessionMember extends MemberRights {
  readonly sessionId: string;
  readonly userId: string;
  readonly organizationId: string;
  readonly organizationSlug: string;
  readonly runAccess: RunAccess;
  readonly limits: OrganizationLimits;
}

/** An open session, with what its person is in the organization; no member has a `role` of null. */
export type FoundSession = SessionAt &
  (SessionMember | { readonly sessionId: string; readonly role: null }) & { readonly isStale: boolean };

/** What `findUsable` needs of a principal of a session. */
interface SessionOfMember {
  readonly sessionId: string;
  readonly organizationId: string;
}

/** Finds the people behind signed-in browsers, with their rights in an organization. */
@Injectable()
export class SessionMembersRepository {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /** Those of the sessions that are open. */
  findOpen(asked: readonly SessionAt[]): Promise<FoundSession[]> {
    return this.database.query(
      `SELECT session.secret_hash AS "secretHash", session.slug, session.id AS "sessionId",
              session.is_stale AS "isStale",
              session.user_id AS "userId", o.id AS "organizationId", o.slug AS "organizationSlug",
              o.run_access AS "runAccess", o.limits, ${MEMBER_RIGHTS_COLUMNS}
         FROM (SELECT s.id, s.secret_hash, s.user_id, asked.slug, asked_o.id AS organization_id, ${IS_STALE} AS is_stale
                 FROM unnest($1::bpchar[], $2::text[]) AS asked (secret_hash, slug)
                 JOIN browser_sessions s ON s.secret_hash = asked.secret_hash AND ${IS_OPEN}
                 LEFT JOIN organizations asked_o ON asked_o.slug = asked.slug) AS session
         JOIN users ON users.id = session.user_id AND users.email IS NOT NULL
         LEFT JOIN organizations o ON o.id = session.organization_id ${joinMemberRights('session')}`,
      [asked.map(({ secretHash }) => secretHash), asked.map(({ slug }) => slug)],
    );
  }

  /** The rights behind those of the sessions that are open and whose person is still a member. */
  findRights(
    asked: readonly SessionOfMember[],
    manager: EntityManager = this.database.manager,
  ): Promise<(SessionOfMember & MemberRights)[]> {
    return manager.query(
      `SELECT session.id AS "sessionId", o.id AS "organizationId", ${MEMBER_RIGHTS_COLUMNS}
         FROM (SELECT s.id, s.user_id, asked.organization_id
                 FROM unnest($1::uuid[], $2::uuid[]) AS asked (session_id, organization_id)
                 JOIN browser_sessions s ON s.id = asked.session_id AND ${IS_OPEN}) AS session
         JOIN organizations o ON o.id = session.organization_id ${joinMemberRights('session')}
        WHERE members.user_id IS NOT NULL`,
      [asked.map(({ sessionId }) => sessionId), asked.map(({ organizationId }) => organizationId)],
    );
  }
}
