import { Injectable } from '@nestjs/common';
import { personAsActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError } from '../../core/domain-error.js';
import type { UserEntity } from '../users/user.entity.js';
import { UserService } from '../users/user.service.js';
import type { InvitationEntity } from './invitation.entity.js';
import { hashOfLinkToken } from './links.js';
import { MemberRepository } from './member.repository.js';
import { OrganizationLock, type LockedOrganization } from './organization-lock.js';
import { OrganizationsRepository } from './organizations.repository.js';
import { passwordChanged } from './password-resets.js';

/** An invitation as its page shows it. */
export interface OpenInvitation {
  readonly email: string;
  readonly role: string;
  readonly organizationId: string;
  readonly organizationName: string;
  /**
   * Of the address: one that must be signed in to accept, or one that nobody has verified and the link was mailed,
   * which does.
   */
  readonly account: 'none' | 'existing' | 'unverified';
}

/** What a person enters to get an account. */
export interface NewPerson {
  readonly name: string;
  /** From `UserService.hashPassword`. */
  readonly passwordHash: string;
}

/** Accepting invitations. Each works once. */
@Injectable()
export class Joining {
  constructor(
    private readonly repository: MemberRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly lock: OrganizationLock,
    private readonly users: UserService,
    private readonly events: AuditEvents,
  ) {}

  /** @throws DomainError `not_found` for an invitation that was used, withdrawn or has expired */
  async find(token: string): Promise<OpenInvitation> {
    const invitation = await this.findByToken(token);
    const { email, role, organizationId } = invitation;
    const { name } = await this.organizations.findById(organizationId);
    const user = await this.users.findByEmail(email);
    const canTakeOver = user?.emailVerifiedAt === null && isMailed(invitation, token);
    const account = user === null ? 'none' : canTakeOver ? 'unverified' : 'existing';
    return { email, role, organizationId, organizationName: name, account };
  }

  /**
   * Creates the account of an invited person. With a mailed link, takes over an account whose address nobody has
   * verified: anybody who had an earlier link can have made it.
   * @throws DomainError `not_found`, `conflict` if the address has another account
   */
  acceptAsNew(token: string, { name, passwordHash }: NewPerson): Promise<UserEntity> {
    return this.accept(token, async ({ manager }, { email, isVerified }) => {
      const existing = await this.users.findByEmail(email, manager);
      if (existing === null) return this.users.create(manager, { email, name, passwordHash, isVerified });
      if (!isVerified || existing.emailVerifiedAt !== null) throw accountExists();
      const owned = await this.users.takeOver(manager, existing, { name, passwordHash });
      await this.events.recordForMember(owned.id, passwordChanged(owned), manager);
      return owned;
    });
  }

  /** @throws DomainError `not_found`, `permission_denied` for an invitation of another address */
  acceptAs(token: string, userId: string): Promise<UserEntity> {
    return this.accept(token, async ({ manager }, { email, isVerified }) => {
      const user = await this.users.findById(userId, manager);
      if (user?.email?.toLowerCase() !== email.toLowerCase()) throw otherAddress();
      if (isVerified && user.emailVerifiedAt === null) await this.users.markVerified(manager, user.id);
      return user;
    });
  }

  /**
   * Accepts every open invitation for an address that an issuer has verified, for the account that `accountOf` finds or
   * creates. Returns undefined if there is none.
   */
  async acceptVerified(
    email: string,
    accountOf: (locked: LockedOrganization) => Promise<UserEntity>,
  ): Promise<UserEntity | undefined> {
    let joined: UserEntity | undefined;
    for (const invitation of await this.repository.findInvitationsFor(email)) {
      joined = (await this.acceptLocked(invitation, accountOf)) ?? joined;
    }
    return joined;
  }

  private async accept(
    token: string,
    accountOf: (locked: LockedOrganization, invited: { email: string; isVerified: boolean }) => Promise<UserEntity>,
  ): Promise<UserEntity> {
    const invitation = await this.findByToken(token);
    const isVerified = isMailed(invitation, token);
    const joined = await this.acceptLocked(invitation, (locked) =>
      accountOf(locked, { email: invitation.email, isVerified }),
    );
    if (joined === undefined) throw noInvitation();
    return joined;
  }

  /** Returns undefined if somebody else has used the invitation. */
  private async acceptLocked(
    invitation: InvitationEntity,
    accountOf: (locked: LockedOrganization) => Promise<UserEntity>,
  ): Promise<UserEntity | undefined> {
    const { organizationId } = invitation;
    try {
      return await this.lock.with(organizationId, async (locked) => {
        const { manager } = locked;
        // The role may have been changed since the invitation was read.
        const current = await this.repository.findInvitation(invitation.tokenHash, manager);
        if (current === null || !(await this.repository.deleteInvitation(manager, current.id))) return undefined;
        const user = await accountOf(locked);
        const isMember = (await this.repository.findMember(manager, organizationId, user.id)) !== null;
        if (!isMember) {
          await this.repository.addMember(manager, { organizationId, userId: user.id, role: current.role });
        }
        const target = { type: 'member', id: user.id, name: user.email } as const;
        const changes = { role: { to: current.role } };
        const event = { event: 'member.joined', actor: personAsActor(user.id), target, changes } as const;
        await this.events.record(organizationId, event, manager);
        return user;
      });
    } catch (error) {
      // Another invitation of the same address has created the account meanwhile.
      if ((error as { code?: string }).code === '23505') throw accountExists();
      throw error;
    }
  }

  private async findByToken(token: string): Promise<InvitationEntity> {
    const tokenHash = hashOfLinkToken(token);
    const invitation = tokenHash === undefined ? null : await this.repository.findInvitation(tokenHash);
    if (invitation === null) throw noInvitation();
    return invitation;
  }
}

/** True if only the owner of the address has received this link. */
function isMailed({ mailedHash }: InvitationEntity, token: string): boolean {
  return mailedHash === hashOfLinkToken(token);
}

function noInvitation(): DomainError {
  return new DomainError(
    'not_found',
    'This invitation has been used or withdrawn, or it has expired. Ask for a new one.',
  );
}

function accountExists(): DomainError {
  return new DomainError(
    'conflict',
    'There is an account with this address. Sign in with it to accept the invitation.',
  );
}

function otherAddress(): DomainError {
  return new DomainError('permission_denied', 'The invitation is for another address than the one that is signed in.');
}
