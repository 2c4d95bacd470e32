import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { databaseDate } from '../../core/database-time.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { PasswordChanges } from './password-changes.js';
import { PasswordHasher } from './password-hasher.js';
import type { UserEntity } from './user.entity.js';
import { UserRepository } from './user.repository.js';

/** What a new account consists of. The password has passed `passwordFault`. */
interface NewAccount {
  readonly email: string;
  readonly name: string;
  /** From `hashPassword`; null for a person who signs in with an issuer. */
  readonly passwordHash: string | null;
  /** Whether a mailed link or an issuer has confirmed the address. */
  readonly isVerified: boolean;
}

/** Accounts of people and their passwords. */
@Injectable()
export class UserService {
  constructor(
    private readonly repository: UserRepository,
    private readonly hasher: PasswordHasher,
    private readonly passwordChanges: PasswordChanges,
  ) {}

  /** @param manager the transaction to read in */
  findById(id: string, manager?: EntityManager): Promise<UserEntity | null> {
    return this.repository.findById(id, manager);
  }

  /** Ignores the case of the address. */
  findByEmail(email: string, manager?: EntityManager): Promise<UserEntity | null> {
    return this.repository.findByEmail(email, manager);
  }

  /**
   * The account with this address and password. Takes the same time whether the account exists or not.
   * @throws DomainError `service_unavailable` if too many passwords wait for verification
   */
  async verifyPassword(email: string, password: string): Promise<UserEntity | undefined> {
    const found = await this.repository.findWithPassword(email);
    // Whether the account exists or not: the time would tell.
    const organizationId = await this.repository.findOrganizationId(email);
    const isRight = await this.hasher.verify(password, found?.passwordHash, organizationId);
    return isRight ? found?.user : undefined;
  }

  /** Whether the person can sign in with a password. */
  async hasPassword(email: string): Promise<boolean> {
    return typeof (await this.repository.findWithPassword(email))?.passwordHash === 'string';
  }

  /**
   * Hash before opening a transaction: it takes long.
   * @param organizationId that the person is joining
   */
  hashPassword(password: string, organizationId: string | null = null): Promise<string> {
    return this.hasher.hash(password, organizationId);
  }

  /** `hashPassword` for a person with an account. */
  async hashPasswordOf({ email }: Pick<UserEntity, 'email'>, password: string): Promise<string> {
    return this.hasher.hash(password, await this.repository.findOrganizationId(email ?? ''));
  }

  create(manager: EntityManager, { email, name, passwordHash, isVerified }: NewAccount): Promise<UserEntity> {
    const emailVerifiedAt = isVerified ? databaseDate() : null;
    return this.repository.insert(manager, { id: newId(), email, name, passwordHash, emailVerifiedAt });
  }

  /**
   * Sets the password, or removes it (null), and ends what the former one opened.
   * @param options.hasNewOwner another person may have set the former one: also ends what that person has made, such as
   *   API keys
   */
  async setPassword(
    manager: EntityManager,
    userId: string,
    passwordHash: string | null,
    options?: { readonly hasNewOwner: boolean },
  ): Promise<void> {
    await this.repository.lock(manager, userId);
    await this.repository.update(manager, userId, { passwordHash });
    await this.passwordChanges.endAccess(manager, userId, options);
  }

  /**
   * Gives an account whose address nobody has verified to the person who has just done that.
   * @throws DomainError `conflict` if the address has been verified meanwhile
   */
  async takeOver(
    manager: EntityManager,
    { id }: UserEntity,
    { name, passwordHash }: Pick<NewAccount, 'name'> & { readonly passwordHash: string },
  ): Promise<UserEntity> {
    await this.repository.lock(manager, id);
    const current = await this.repository.findById(id, manager);
    if (current === null || current.emailVerifiedAt !== null) {
      throw new DomainError('conflict', 'The account has changed in the meantime. Sign in and try again.');
    }
    await this.setPassword(manager, id, passwordHash, { hasNewOwner: true });
    await this.repository.update(manager, id, { name, emailVerifiedAt: databaseDate() });
    return { ...current, name };
  }

  /**
   * Sets the password of a person whose current password has just been verified, and ends what that one opened.
   * @param verified from `verifyPassword`
   * @throws DomainError `conflict` if the account has changed since the verification: it can be a reset, which must
   *   stand
   */
  async replacePassword(manager: EntityManager, verified: UserEntity, passwordHash: string): Promise<void> {
    await this.repository.lock(manager, verified.id);
    const current = await this.repository.findById(verified.id, manager);
    if (current?.updatedAt.getTime() !== verified.updatedAt.getTime()) {
      throw new DomainError('conflict', 'The account has changed in the meantime. Sign in and try again.');
    }
    await this.setPassword(manager, verified.id, passwordHash);
  }

  /** Records that a mailed link or an issuer has confirmed the address. */
  async markVerified(manager: EntityManager, userId: string): Promise<void> {
    await this.repository.update(manager, userId, { emailVerifiedAt: databaseDate() });
  }

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.repository.transaction(work);
  }
}
