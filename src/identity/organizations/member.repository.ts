import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, LessThanOrEqual, MoreThan, Repository, type SelectQueryBuilder } from 'typeorm';
import { databaseDate } from '../../core/database-time.js';
import { newId } from '../../core/ids.js';
import type { SpendLimit } from '../../core/limits.js';
import type { RunAccess } from '../../core/principal.js';
import { InvitationEntity } from './invitation.entity.js';
import { MemberEntity } from './member.entity.js';
import { joinMemberRights, MEMBER_RIGHTS_COLUMNS, type MemberRights, OWNER } from './member-rights.js';
import { OrganizationPersonEntity } from './organization-person.entity.js';
import { PasswordLinkEntity } from './password-link.entity.js';

type NewInvitation = Omit<InvitationEntity, 'id' | 'createdAt' | 'updatedAt'>;
type NewPasswordLink = Omit<PasswordLinkEntity, 'createdAt'>;

/** The rights of a role's holders. */
interface RightsOfHolders extends MemberRights {
  readonly userIds: readonly string[];
  readonly runAccess: RunAccess;
}

/** Members, invitations and password links of organizations. Changes take the transaction of `OrganizationLock`. */
@Injectable()
export class MemberRepository {
  constructor(@InjectRepository(MemberEntity) private readonly members: Repository<MemberEntity>) {}

  /** For `paginate`; the alias is `person`. */
  queryPeople(organizationId: string): SelectQueryBuilder<OrganizationPersonEntity> {
    return this.members.manager
      .createQueryBuilder(OrganizationPersonEntity, 'person')
      .where('person.organizationId = :organizationId', { organizationId });
  }

  findPerson(manager: EntityManager, organizationId: string, id: string): Promise<OrganizationPersonEntity | null> {
    return manager.findOneBy(OrganizationPersonEntity, { organizationId, id });
  }

  findMember(manager: EntityManager, organizationId: string, userId: string): Promise<MemberEntity | null> {
    return manager.findOneBy(MemberEntity, { organizationId, userId });
  }

  /** The rights of those of the memberships that exist. */
  findRights(
    asked: readonly { readonly userId: string; readonly organizationId: string }[],
    manager: EntityManager = this.members.manager,
  ): Promise<(MemberRights & { userId: string; organizationId: string })[]> {
    return manager.query(
      `SELECT members.user_id AS "userId", members.organization_id AS "organizationId", ${MEMBER_RIGHTS_COLUMNS}
         FROM (SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS asked (user_id, organization_id)) AS membership
         JOIN organizations o ON o.id = membership.organization_id ${joinMemberRights('membership')}
        WHERE members.user_id IS NOT NULL`,
      [asked.map(({ userId }) => userId), asked.map(({ organizationId }) => organizationId)],
    );
  }

  /** The rights of those who are members, read once per role: they can be large, and a role can have many holders. */
  findRightsOfHolders(organizationId: string, userIds: readonly string[]): Promise<RightsOfHolders[]> {
    return this.members.query(
      `SELECT members."userIds", o.run_access AS "runAccess", ${MEMBER_RIGHTS_COLUMNS}
         FROM (SELECT role, array_agg(user_id::text) AS "userIds"
                 FROM members WHERE organization_id = $1 AND user_id = ANY($2::uuid[]) GROUP BY role) AS members
         JOIN organizations o ON o.id = $1
         LEFT JOIN roles ON roles.organization_id = o.id AND roles.name = members.role`,
      [organizationId, userIds],
    );
  }

  countOrganizations(manager: EntityManager, userId: string): Promise<number> {
    return manager.countBy(MemberEntity, { userId });
  }

  countOwners(manager: EntityManager, organizationId: string): Promise<number> {
    return manager.countBy(MemberEntity, { organizationId, role: OWNER });
  }

  async addMember(
    manager: EntityManager,
    member: Pick<MemberEntity, 'organizationId' | 'userId' | 'role'>,
  ): Promise<void> {
    await manager.insert(MemberEntity, member);
  }

  /**
   * Also ends the links with which the member's password could be reset: they were made by someone with rights over the
   * former role.
   */
  async setRole(manager: EntityManager, { organizationId, userId }: MemberEntity, role: string): Promise<void> {
    await manager.update(MemberEntity, { organizationId, userId }, { role });
    await manager.delete(PasswordLinkEntity, { organizationId, userId });
  }

  async setSpend(
    manager: EntityManager,
    { organizationId, userId }: Pick<MemberEntity, 'organizationId' | 'userId'>,
    spend: SpendLimit | null,
  ): Promise<void> {
    await manager.update(MemberEntity, { organizationId, userId }, { spend });
  }

  /**
   * Foreign keys delete what the person has in the organization: API keys, grants, links, and invitations that the
   * person made. The service also forgets the ID tokens of the person's sign-ins. Grants are locked before what they
   * have made, as by those who revoke one.
   */
  async removeMember(manager: EntityManager, organizationId: string, userId: string): Promise<void> {
    await manager.query(
      'DELETE FROM id_tokens USING browser_sessions s WHERE s.id = id_tokens.session_id AND s.user_id = $1',
      [userId],
    );
    await manager.query('SELECT FROM oauth_grants WHERE organization_id = $1 AND user_id = $2 ORDER BY id FOR UPDATE', [
      organizationId,
      userId,
    ]);
    await manager.delete(MemberEntity, { organizationId, userId });
  }

  /** Whether a member or an open invitation has the role. */
  async isRoleUsed(manager: EntityManager, organizationId: string, role: string): Promise<boolean> {
    return manager.existsBy(OrganizationPersonEntity, { organizationId, role });
  }

  /** Stores an invitation in place of an earlier one for the same address. Returns its id. */
  async replaceInvitation(manager: EntityManager, invitation: NewInvitation): Promise<string> {
    await manager.query('DELETE FROM invitations WHERE organization_id = $1 AND lower(email) = lower($2)', [
      invitation.organizationId,
      invitation.email,
    ]);
    await manager.delete(InvitationEntity, {
      organizationId: invitation.organizationId,
      expiresAt: LessThanOrEqual(databaseDate()),
    });
    const id = newId();
    await manager.insert(InvitationEntity, { id, ...invitation });
    return id;
  }

  async setInvitedRole(manager: EntityManager, id: string, role: string): Promise<void> {
    await manager.update(InvitationEntity, { id }, { role });
  }

  async deleteInvitation(manager: EntityManager, id: string): Promise<boolean> {
    const { affected } = await manager.delete(InvitationEntity, { id });
    return affected === 1;
  }

  findInvitation(tokenHash: string, manager = this.members.manager): Promise<InvitationEntity | null> {
    const expiresAt = MoreThan(databaseDate());
    return manager.findOneBy(InvitationEntity, [
      { tokenHash, expiresAt },
      { mailedHash: tokenHash, expiresAt },
    ]);
  }

  findInvitationFor(organizationId: string, email: string, manager: EntityManager): Promise<InvitationEntity | null> {
    return manager
      .createQueryBuilder(InvitationEntity, 'invitation')
      .where('invitation.organizationId = :organizationId AND lower(invitation.email) = lower(CAST(:email AS text))')
      .andWhere('invitation.expiresAt > now()')
      .setParameters({ organizationId, email })
      .getOne();
  }

  /** The open invitations for an address, of all organizations. */
  findInvitationsFor(email: string): Promise<InvitationEntity[]> {
    return this.members.manager
      .createQueryBuilder(InvitationEntity, 'invitation')
      .where('lower(invitation.email) = lower(CAST(:email AS text)) AND invitation.expiresAt > now()', { email })
      .getMany();
  }

  /**
   * Stores a link; the organization's setup page and each member have one at a time, one that was mailed, and one that
   * the operator made.
   */
  async replacePasswordLink(manager: EntityManager, link: NewPasswordLink): Promise<void> {
    const { organizationId, userId, isMailed } = link;
    const same = { organizationId: organizationId ?? IsNull(), userId: userId ?? IsNull(), isMailed };
    await manager.delete(PasswordLinkEntity, same);
    await manager.insert(PasswordLinkEntity, link);
  }

  async findPasswordLink(tokenHash: string): Promise<PasswordLinkEntity | null> {
    return this.members.manager.findOneBy(PasswordLinkEntity, [
      { tokenHash, expiresAt: IsNull() },
      { tokenHash, expiresAt: MoreThan(databaseDate()) },
    ]);
  }

  /** Ends the link and the others of the same person. Returns false if somebody else has used it. */
  async usePasswordLink(manager: EntityManager, { tokenHash, userId }: PasswordLinkEntity): Promise<boolean> {
    const { affected } = await manager.delete(PasswordLinkEntity, { tokenHash });
    if (userId !== null) await manager.delete(PasswordLinkEntity, { userId });
    return affected === 1;
  }
}
