import { Injectable } from '@nestjs/common';
import { databaseNow } from '../../core/database-time.js';
import { personAsActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError } from '../../core/domain-error.js';
import type { UserEntity } from '../users/user.entity.js';
import { UserService } from '../users/user.service.js';
import { OPERATOR, hashOfLinkToken, newLinkToken } from './links.js';
import { MemberRepository } from './member.repository.js';
import { OWNER } from './member-rights.js';
import { type LockedOrganization, OrganizationLock } from './organization-lock.js';
import { OrganizationsRepository } from './organizations.repository.js';
import type { PasswordLinkEntity } from './password-link.entity.js';
import { passwordChanged } from './password-resets.js';
import type { NewPerson } from './joining.js';

const INVITATION_SECONDS = 7 * 24 * 3600;

/** Gives an organization its owner, by a link that only the operator of the service can create. */
@Injectable()
export class Ownership {
  constructor(
    private readonly repository: MemberRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly lock: OrganizationLock,
    private readonly users: UserService,
    private readonly events: AuditEvents,
  ) {}

  hasOwner(organizationId: string): Promise<boolean> {
    return this.lock.with(organizationId, async ({ manager }) => {
      return (await this.repository.countOwners(manager, organizationId)) > 0;
    });
  }

  /**
   * Makes the person an owner. Creates the account if the address has none. An existing one that nobody has verified
   * may be that of somebody else: unless this is its password already, it becomes that, and everything of the former
   * owner ends.
   */
  async ensureOwner(organizationId: string, email: string, password: string): Promise<void> {
    const isKnown = (await this.users.verifyPassword(email, password)) !== undefined;
    const passwordHash = await this.users.hashPassword(password, organizationId);
    await this.lock.with(organizationId, async (locked) => {
      const { manager } = locked;
      const existing = await this.users.findByEmail(email, manager);
      const user =
        existing ?? (await this.users.create(manager, { email, name: nameIn(email), passwordHash, isVerified: false }));
      if (existing?.emailVerifiedAt === null && !isKnown) {
        await this.users.setPassword(manager, existing.id, passwordHash, { hasNewOwner: true });
        await this.events.recordForMember(existing.id, passwordChanged(existing), manager);
      }
      await this.makeOwner(locked, user.id);
    });
  }

  /** The token of a new link to the setup page, in place of the former one. It works until it is used. */
  async createSetupToken(organizationId: string): Promise<string> {
    const { token, tokenHash } = newLinkToken();
    const link = { tokenHash, organizationId, userId: null, ...OPERATOR, isMailed: false, expiresAt: null };
    await this.lock.with(organizationId, ({ manager }) => this.repository.replacePasswordLink(manager, link));
    return token;
  }

  /** The token of an invitation for an owner, in place of a former one for the address. It works for 7 days. */
  async inviteOwner(organizationId: string, email: string): Promise<string> {
    const { token, tokenHash } = newLinkToken();
    const expiresAt = new Date(databaseNow() + INVITATION_SECONDS * 1000);
    const invitation = { organizationId, email, role: OWNER, tokenHash, mailedHash: null, ...OPERATOR, expiresAt };
    await this.lock.with(organizationId, ({ manager }) => this.repository.replaceInvitation(manager, invitation));
    return token;
  }

  /** The name of the organization. @throws DomainError `not_found` for a link that was used or replaced */
  async findSetup(token: string): Promise<string> {
    const { organizationId } = await this.findLink(token);
    return (await this.organizations.findById(organizationId)).name;
  }

  /**
   * Makes the person with this address the owner: creates the account, or sets the password of a member who belongs to
   * no other organization.
   * @throws DomainError `not_found`, `conflict` for another account, which must be signed in (`claimAs`)
   */
  claim(token: string, { email, name, passwordHash }: NewPerson & { email: string }): Promise<string> {
    return this.useLink(token, async (locked) => {
      const { manager, organization } = locked;
      const existing = await this.users.findByEmail(email, manager);
      if (existing === null) return this.users.create(manager, { email, name, passwordHash, isVerified: false });
      const isMember = (await this.repository.findMember(manager, organization.id, existing.id)) !== null;
      if (!isMember || (await this.repository.countOrganizations(manager, existing.id)) > 1) {
        throw new DomainError(
          'conflict',
          'There is an account with this address. Sign in with it, then open the link again.',
        );
      }
      await this.users.setPassword(manager, existing.id, passwordHash);
      await this.events.recordForMember(existing.id, passwordChanged(existing), manager);
      return existing;
    });
  }

  /** Makes a signed-in person the owner. @throws DomainError `not_found` */
  claimAs(token: string, userId: string): Promise<string> {
    return this.useLink(token, ({ manager }) => this.users.findById(userId, manager));
  }

  private async useLink(
    token: string,
    accountOf: (locked: LockedOrganization) => Promise<UserEntity | null>,
  ): Promise<string> {
    const link = await this.findLink(token);
    return this.lock.with(link.organizationId, async (locked) => {
      if (!(await this.repository.usePasswordLink(locked.manager, link))) throw noLink();
      const user = await accountOf(locked);
      if (user === null) throw noLink();
      await this.makeOwner(locked, user.id);
      return user.id;
    });
  }

  private async makeOwner({ manager, organization }: LockedOrganization, userId: string): Promise<void> {
    const member = await this.repository.findMember(manager, organization.id, userId);
    if (member !== null) await this.repository.setRole(manager, member, OWNER);
    else await this.repository.addMember(manager, { organizationId: organization.id, userId, role: OWNER });
    const user = await this.users.findById(userId, manager);
    const target = { type: 'member', id: userId, name: user?.email ?? null } as const;
    const event = member === null ? 'member.joined' : 'member.updated';
    const changes = { role: { ...(member !== null && { from: member.role }), to: OWNER } };
    await this.events.record(organization.id, { event, actor: personAsActor(userId), target, changes }, manager);
  }

  private async findLink(token: string): Promise<PasswordLinkEntity & { organizationId: string }> {
    const tokenHash = hashOfLinkToken(token);
    const link = tokenHash === undefined ? null : await this.repository.findPasswordLink(tokenHash);
    if (link === null || link.userId !== null || link.organizationId === null) throw noLink();
    return { ...link, organizationId: link.organizationId };
  }
}

/** What stands before the `@`, until the person enters a name. */
function nameIn(email: string): string {
  return email.split('@', 1)[0] ?? email;
}

function noLink(): DomainError {
  return new DomainError(
    'not_found',
    'This link has been used or replaced by a newer one. The operator of the service can print a new link (npm run ' +
      'owner:reset).',
  );
}
