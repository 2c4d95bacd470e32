import { Injectable } from '@nestjs/common';
import { DomainError } from '../common/domain-error.js';
import type { UserEntity } from '../users/user.entity.js';
import { UserService } from '../users/user.service.js';
import { hashOfLinkToken } from './link-token.js';
import { MemberRepository } from './member.repository.js';
import { OrganizationLock } from './organization-lock.js';
import type { PasswordLinkEntity } from './password-link.entity.js';

/** Setting a new password with a link. Each works once. */
@Injectable()
export class PasswordResets {
  constructor(
    private readonly repository: MemberRepository,
    private readonly lock: OrganizationLock,
    private readonly users: UserService,
  ) {}

  /** The person whose password the link sets. @throws DomainError `not_found` for a link that was used or has expired */
  async find(token: string): Promise<UserEntity> {
    const { userId } = await this.findLink(token);
    const user = await this.users.findById(userId);
    if (user === null) throw noLink();
    return user;
  }

  /** Ends all sessions and grants of the person. Returns the person's id. @throws DomainError `not_found` */
  async setPassword(token: string, passwordHash: string): Promise<string> {
    const link = await this.findLink(token);
    return this.lock.with(link.organizationId, async ({ manager }) => {
      const { userId, isMailed } = link;
      // Since the link was made, the person may have joined an organization that its maker must not enter.
      const isOpen = isMailed || (await this.repository.countOrganizations(manager, userId)) === 1;
      if (!isOpen || !(await this.repository.usePasswordLink(manager, link))) throw noLink();
      await this.users.setPassword(manager, userId, passwordHash);
      if (isMailed) await this.users.markVerified(manager, userId);
      return userId;
    });
  }

  private async findLink(token: string): Promise<PasswordLinkEntity & { userId: string }> {
    const tokenHash = hashOfLinkToken(token);
    const link = tokenHash === undefined ? null : await this.repository.findPasswordLink(tokenHash);
    if (link === null || link.userId === null) throw noLink();
    return { ...link, userId: link.userId };
  }
}

function noLink(): DomainError {
  return new DomainError('not_found', 'This link has been used, or it has expired. Ask for a new one.');
}
