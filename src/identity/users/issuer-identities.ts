import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import { IssuerIdentityEntity } from './issuer-identity.entity.js';
import type { UserEntity } from './user.entity.js';
import { UserRepository } from './user.repository.js';
import { UserService } from './user.service.js';

/** A person as an issuer has authenticated them. */
interface IssuerIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/** Which account belongs to which person of an OpenID issuer. */
@Injectable()
export class IssuerIdentities {
  constructor(
    @InjectRepository(IssuerIdentityEntity) private readonly identities: Repository<IssuerIdentityEntity>,
    private readonly repository: UserRepository,
    private readonly users: UserService,
  ) {}

  async findUser({ issuer, subject }: IssuerIdentity): Promise<UserEntity | null> {
    const identity = await this.identities.findOneBy({ issuer, subject });
    return identity === null ? null : this.repository.findById(identity.userId);
  }

  /**
   * Links an account whose address the issuer has verified. A password that was set before anyone had verified the
   * address may be that of another person, so it is removed, with all that person has made.
   * @throws DomainError `permission_denied` if the account belongs to another person of the same issuer
   */
  async link(manager: EntityManager, user: UserEntity, { issuer, subject }: IssuerIdentity): Promise<void> {
    await this.repository.lock(manager, user.id);
    const linked = await manager.findOneBy(IssuerIdentityEntity, { issuer, userId: user.id });
    if (linked !== null && linked.subject !== subject) {
      throw new DomainError('permission_denied', 'The account with this address belongs to another identity.');
    }
    if (linked === null) await manager.insert(IssuerIdentityEntity, { issuer, subject, userId: user.id });
    if (user.emailVerifiedAt !== null) return;
    await this.users.setPassword(manager, user.id, null, { hasNewOwner: true });
    await this.users.markVerified(manager, user.id);
  }
}
