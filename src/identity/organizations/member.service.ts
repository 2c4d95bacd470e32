import { Injectable } from '@nestjs/common';
import { databaseNow } from '../../core/database-time.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import type { AuditEventName } from '../../audit/events/audit-event.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError, faultAt } from '../../core/domain-error.js';
import { changedRateLimit, isLifted, type SpendLimit } from '../../core/limits.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { paginate } from '../../core/paging/paginate.js';
import type { Principal } from '../../core/principal.js';
import type { SpendLimitInput } from '../../core/spend-limit.dto.js';
import { AppConfig } from '../../core/config/app-config.js';
import { MailLimits, Mailer } from '../../platform/mail/mail.js';
import { PasswordChanges } from '../users/password-changes.js';
import { UserService } from '../users/user.service.js';
import { type Authority, holdsMore, type MemberRights, OWNER } from './member-rights.js';
import { newLinkToken, linkMadeBy, endLinksOfMembers, endLinksOfPerson } from './links.js';
import type { MemberInvited, MemberInviteInput, MemberItem, MemberPage, MemberUpdateInput } from './member.dto.js';
import { MemberRepository } from './member.repository.js';
import { type LockedOrganization, OrganizationLock, rightsOfRole } from './organization-lock.js';
import { type OrganizationPersonEntity, PERSON_STATUSES } from './organization-person.entity.js';

const INVITATION_SECONDS = 7 * 24 * 3600;
const RESET_SECONDS = 24 * 3600;

const MEMBER_LIST: ListSpec = {
  name: 'members',
  fields: {
    id: { column: 'person.id', type: 'uuid' },
    user_id: { column: 'person.userId', type: 'uuid', nullable: true },
    email: { column: 'person.email', type: 'string' },
    name: { column: 'person.name', type: 'string', nullable: true },
    role: { column: 'person.role', type: 'string' },
    status: { column: 'person.status', type: 'enum', values: PERSON_STATUSES },
    created_at: { column: 'person.createdAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'asc' }],
  tieBreaker: 'id',
};

/** The people of an organization: members and those who are invited. */
@Injectable()
export class MemberService {
  constructor(
    private readonly lock: OrganizationLock,
    private readonly repository: MemberRepository,
    private readonly users: UserService,
    private readonly events: AuditEvents,
    private readonly mailer: Mailer,
    private readonly mailLimits: MailLimits,
    private readonly config: AppConfig,
    passwordChanges: PasswordChanges,
  ) {
    passwordChanges.registerForOwner(endLinksOfPerson);
  }

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<MemberPage> {
    const query = this.repository.queryPeople(caller.organization.id);
    const page = await paginate(query, MEMBER_LIST, input, answer);
    return { ...page, items: page.items.map(toItem) };
  }

  /**
   * Replaces an open invitation for the same address.
   * @throws DomainError `too_many_requests`, `permission_widening`, `conflict` for a member, `invalid_request` for an
   *   unknown role
   */
  async invite(
    { email, role, expiresIn = INVITATION_SECONDS }: MemberInviteInput,
    caller: Principal,
  ): Promise<MemberInvited> {
    const shown = newLinkToken();
    // Only this one proves that the address belongs to the person: the caller has the other.
    const mailed = this.mailer.isEnabled ? newLinkToken() : undefined;
    if (mailed !== undefined) await this.mailLimits.count(caller.organization.id, email);
    const { person, organization } = await this.lock.withAuthority(caller, async ({ authority, ...locked }) => {
      authority.assertManages(await existingRole(locked, role));
      const { manager, organization } = locked;
      await this.refuseMember(locked, email);
      const pending = await this.repository.findInvitationFor(organization.id, email, manager);
      if (pending !== null) authority.assertManages(await roleInUse(locked, pending.role));
      const expiresAt = new Date(databaseNow() + expiresIn * 1000);
      const id = await this.repository.replaceInvitation(manager, {
        ...(await linkMadeBy(manager, caller, expiresAt)),
        organizationId: organization.id,
        email,
        role,
        tokenHash: shown.tokenHash,
        mailedHash: mailed?.tokenHash ?? null,
      });
      const person = await this.personOf(locked, id);
      await this.record(locked, 'member.invited', caller, person, { role: { to: role } });
      return { person, organization };
    });
    if (mailed !== undefined)
      this.mailer.sendInvitation(email, organization.name, this.linkTo('invitation', mailed.token));
    return { item: toItem(person), invitation_url: this.linkTo('invitation', shown.token) };
  }

  /**
   * @throws DomainError `not_found`, `last_owner`, `permission_denied` for the caller's own role,
   *   `permission_widening`, `conflict` for an invitation that would hold more than before, or for its spending limit
   */
  async update({ id, role, spend }: MemberUpdateInput, caller: Principal): Promise<MemberItem> {
    const updated = await this.lock.withAuthority(caller, async ({ authority, ...locked }) => {
      const person = await this.personOf(locked, id);
      const changed = {
        ...(role !== undefined && { role: { from: person.role, to: role } }),
        ...(spend !== undefined && {
          spend: { from: person.spend, to: await this.setSpend(locked, authority, person, spend) },
        }),
      };
      if (role !== undefined) await this.setRole(locked, authority, person, role);
      if (Object.keys(changed).length > 0) await this.record(locked, 'member.updated', caller, person, changed);
      return this.personOf(locked, id);
    });
    return toItem(updated);
  }

  /**
   * Removes a member together with the keys and grants that the person has in the organization, and the invitations and
   * reset links that the person made; or withdraws an invitation. Everyone can remove themselves.
   * @throws DomainError `not_found`, `last_owner`, `permission_widening`
   */
  async remove(id: string, caller: Principal): Promise<void> {
    await this.lock.withAuthority(caller, async ({ authority, ...locked }) => {
      const { manager, organization } = locked;
      const person = await this.personOf(locked, id);
      if (!authority.isSelf(person.userId)) authority.assertManages(await roleInUse(locked, person.role));
      await this.refuseLastOwner(locked, person);
      if (person.userId === null) await this.repository.deleteInvitation(manager, person.id);
      else await this.repository.removeMember(manager, organization.id, person.userId);
      await this.record(locked, 'member.removed', caller, person, { role: { from: person.role } });
    });
  }

  /**
   * Makes a link that sets a new password. For a person of several organizations it is only mailed, because it would
   * open the other organizations to the caller.
   * @throws DomainError `too_many_requests`, `not_found`, `permission_widening`, `conflict`
   */
  async createResetLink(id: string, caller: Principal): Promise<string | null> {
    const shown = newLinkToken();
    const mailed = this.mailer.isEnabled ? newLinkToken() : undefined;
    if (mailed !== undefined) await this.mailLimits.count(caller.organization.id, id);
    const { email, isShown } = await this.lock.withAuthority(caller, async ({ authority, ...locked }) => {
      const { manager, organization } = locked;
      const person = await this.personOf(locked, id);
      if (person.userId === null) throw new DomainError('conflict', 'The invitation has not been accepted yet.');
      const { userId, email } = person;
      // Also for the caller: with the link, a narrow key of a person would open everything that the person holds.
      authority.assertManages(await roleInUse(locked, person.role));
      if (userId === caller.userId && (caller.resource !== undefined || caller.scopes !== undefined)) {
        const detail =
          'A credential for one resource or scope cannot reset the password of its own person, which opens everything.';
        throw new DomainError('permission_widening', detail);
      }
      const isShown = (await this.repository.countOrganizations(manager, userId)) === 1;
      if (!isShown && mailed === undefined) {
        const detail =
          'The person is also a member of other organizations, so the link can only be mailed. Set SMTP_URL.';
        throw new DomainError('conflict', detail);
      }
      const expiresAt = new Date(databaseNow() + RESET_SECONDS * 1000);
      const link = { organizationId: organization.id, userId, ...(await linkMadeBy(manager, caller, expiresAt)) };
      if (isShown)
        await this.repository.replacePasswordLink(manager, { ...link, isMailed: false, tokenHash: shown.tokenHash });
      if (mailed)
        await this.repository.replacePasswordLink(manager, { ...link, isMailed: true, tokenHash: mailed.tokenHash });
      await this.record(locked, 'member.reset', caller, person);
      return { email, isShown };
    });
    if (mailed !== undefined) this.mailer.sendReset(email, this.linkTo('reset', mailed.token));
    return isShown ? this.linkTo('reset', shown.token) : null;
  }

  private async setRole(
    locked: LockedOrganization,
    authority: Authority,
    person: OrganizationPersonEntity,
    role: string,
  ): Promise<void> {
    const { manager, organization } = locked;
    const next = await existingRole(locked, role);
    if (role !== OWNER) await this.refuseLastOwner(locked, person);
    if (authority.isSelf(person.userId))
      throw new DomainError('permission_denied', 'Nobody can change their own role.');
    const current = await roleInUse(locked, person.role);
    authority.assertManages(current);
    authority.assertManages(next);
    if (person.userId === null) {
      // Whoever made the invitation has its link, and may have been able to give only the former role.
      if (holdsMore(next, current))
        throw new DomainError('conflict', 'Invite the person again to give a role that holds more.');
      await this.repository.setInvitedRole(manager, person.id, role);
    } else {
      const member = await this.repository.findMember(manager, organization.id, person.userId);
      if (member !== null && member.role !== role) await this.repository.setRole(manager, member, role);
      if (holdsMore(current, next)) await endLinksOfMembers(manager, organization.id, { userId: person.userId });
    }
  }

  /** Sets the spending limit of a member. Returns it. */
  private async setSpend(
    locked: LockedOrganization,
    authority: Authority,
    { userId, role, spend: stored }: OrganizationPersonEntity,
    change: SpendLimitInput | null,
  ): Promise<SpendLimit | null> {
    if (userId === null) throw new DomainError('conflict', 'The invitation has not been accepted yet.');
    if (!authority.isSelf(userId)) authority.assertManages(await roleInUse(locked, role));
    const spend = changedRateLimit(stored, change);
    if (isLifted(spend, stored)) authority.assertCanLiftLimits();
    const { manager, organization } = locked;
    await this.repository.setSpend(manager, { organizationId: organization.id, userId }, spend);
    return spend;
  }

  private record(
    { manager, organization }: LockedOrganization,
    event: AuditEventName,
    actor: Principal,
    person: OrganizationPersonEntity,
    changes?: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const target = {
      type: person.userId === null ? 'invitation' : 'member',
      id: person.id,
      name: person.email,
    } as const;
    return this.events.record(organization.id, { event, actor, target, ...(changes && { changes }) }, manager);
  }

  private linkTo(page: 'invitation' | 'reset', token: string): string {
    return `${this.config.baseUrl}/${page}?token=${token}`;
  }

  private async personOf({ manager, organization }: LockedOrganization, id: string): Promise<OrganizationPersonEntity> {
    const person = await this.repository.findPerson(manager, organization.id, id);
    if (person === null)
      throw new DomainError('not_found', 'The organization has no member or invitation with this id.');
    return person;
  }

  private async refuseMember({ manager, organization }: LockedOrganization, email: string): Promise<void> {
    const user = await this.users.findByEmail(email, manager);
    if (user === null || (await this.repository.findMember(manager, organization.id, user.id)) === null) return;
    throw new DomainError('conflict', 'The person is already a member of the organization.');
  }

  private async refuseLastOwner(
    { manager, organization }: LockedOrganization,
    person: OrganizationPersonEntity,
  ): Promise<void> {
    if (person.status !== 'active' || person.role !== OWNER) return;
    if ((await this.repository.countOwners(manager, organization.id)) > 1) return;
    throw new DomainError(
      'last_owner',
      'The person is the last owner of the organization. Make another member an owner first.',
    );
  }
}

async function existingRole(locked: LockedOrganization, role: string): Promise<MemberRights> {
  const rights = await rightsOfRole(locked, role);
  if (rights !== undefined) return rights;
  throw faultAt('role', 'unknown_role', 'The organization has no role with this name.');
}

/** A role that somebody has. One that no longer exists gives nothing beyond the permissions of every member. */
async function roleInUse(locked: LockedOrganization, role: string): Promise<MemberRights> {
  const { memberPermissions } = locked.organization;
  return (await rightsOfRole(locked, role)) ?? { role, rolePermissions: null, memberPermissions };
}

function toItem(person: OrganizationPersonEntity): MemberItem {
  const { id, userId, email, name, role, status, createdAt, spend } = person;
  return { id, user_id: userId, email, name, role, status, created_at: createdAt.toISOString(), spend };
}
