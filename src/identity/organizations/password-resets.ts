import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type AuditEvent, personAsActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { databaseNow } from '../../core/database-time.js';
import { DomainError } from '../../core/domain-error.js';
import type { UserEntity } from '../users/user.entity.js';
import { UserService } from '../users/user.service.js';
import { OPERATOR, hashOfLinkToken, newLinkToken } from './links.js';
import { MemberRepository } from './member.repository.js';
import { OrganizationLock } from './organization-lock.js';
import type { PasswordLinkEntity } from './password-link.entity.js';

const LIFETIME_MS = 24 * 3600 * 1000;

/** Whose password a link sets. */
export interface OpenReset {
  readonly user: UserEntity;
  /**
   * The account may have been another person's, whose API keys end, too: nobody has verified its address, or the
   * operator made the link.
   */
  readonly hasNewOwner: boolean;
}

/** Setting a new password with a link. Each works once. */
@Injectable()
export class PasswordResets {
  constructor(
    private readonly repository: MemberRepository,
    private readonly lock: OrganizationLock,
    private readonly users: UserService,
    private readonly events: AuditEvents,
  ) {}

  /**
   * The token of a link for the person with this address, in place of the operator's former one; undefined without an
   * account. Only the operator of the service can make it: it opens every organization of the person.
   */
  async createToken(email: string): Promise<string | undefined> {
    const user = await this.users.findByEmail(email);
    if (user === null) return undefined;
    const { token, tokenHash } = newLinkToken();
    const expiresAt = new Date(databaseNow() + LIFETIME_MS);
    const link = { tokenHash, organizationId: null, userId: user.id, ...OPERATOR, isMailed: false, expiresAt };
    await this.users.transaction((manager) => this.repository.replacePasswordLink(manager, link));
    return token;
  }

  /** @throws DomainError `not_found` for a link that was used or has expired */
  async find(token: string): Promise<OpenReset> {
    const link = await this.findLink(token);
    const user = await this.users.findById(link.userId);
    if (user === null) throw noLink();
    return { user, hasNewOwner: givesToOwner(link, user) };
  }

  /** Ends all sessions and grants of the person. Returns the person's id. @throws DomainError `not_found` */
  async setPassword(token: string, passwordHash: string): Promise<string> {
    const link = await this.findLink(token);
    const { organizationId } = link;
    if (organizationId === null) {
      return this.users.transaction((manager) => this.usePasswordLink(manager, link, passwordHash));
    }
    return this.lock.with(organizationId, async ({ manager }) => {
      // Since the link was made, the person may have joined an organization that its maker must not enter.
      const isOpen = link.isMailed || (await this.repository.countOrganizations(manager, link.userId)) === 1;
      if (!isOpen) throw noLink();
      return this.usePasswordLink(manager, link, passwordHash);
    });
  }

  private async usePasswordLink(
    manager: EntityManager,
    link: PasswordLinkEntity & { userId: string },
    passwordHash: string,
  ): Promise<string> {
    const { userId, isMailed } = link;
    const user = await this.users.findById(userId, manager);
    if (user === null || !(await this.repository.usePasswordLink(manager, link))) throw noLink();
    await this.users.setPassword(manager, userId, passwordHash, { hasNewOwner: givesToOwner(link, user) });
    if (isMailed) await this.users.markVerified(manager, userId);
    await this.events.recordForMember(userId, passwordChanged(user), manager);
    return userId;
  }

  private async findLink(token: string): Promise<PasswordLinkEntity & { userId: string }> {
    const tokenHash = hashOfLinkToken(token);
    const link = tokenHash === undefined ? null : await this.repository.findPasswordLink(tokenHash);
    if (link === null || link.userId === null) throw noLink();
    return { ...link, userId: link.userId };
  }
}

function givesToOwner({ organizationId, isMailed }: PasswordLinkEntity, { emailVerifiedAt }: UserEntity): boolean {
  return organizationId === null || (isMailed && emailVerifiedAt === null);
}

function noLink(): DomainError {
  return new DomainError('not_found', 'This link has been used, or it has expired. Ask for a new one.');
}

/** The event of a password that its owner has set. */
export function passwordChanged({ id, email }: UserEntity): AuditEvent {
  return { event: 'password.changed', actor: personAsActor(id), target: { type: 'user', id, name: email } };
}
