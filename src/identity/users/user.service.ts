import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { hash, verify } from '@node-rs/argon2';
import { databaseDate } from '../../core/database-time.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { PasswordChanges } from './password-changes.js';
import type { UserEntity } from './user.entity.js';
import { UserRepository } from './user.repository.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, Shares } from '../../core/sharing/shares.js';

/** What OWASP recommends for Argon2id, which is the library's default algorithm: 19 MiB, two passes. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** The share of accounts that do not exist, or are in no organization. */
const NO_ORGANIZATION = '';

/** Hashes and verifies passwords (RFC 9106), a few at a time. */
@Injectable()
export class PasswordHasher {
  /**
   * Hashes at once, and waiting ones, so that sign-ins cannot use up processors and memory. One organization can use
   * both units, but the next free one goes to another.
   */
  private readonly share = new FairShare({
    capacity: 2,
    limits: [],
    places: new Shares(Infinity, [atMost(100)]),
    waitMs: 30_000,
    refusal: () => new DomainError('service_unavailable', 'Please try again later.'),
  });
  /** The hash of no password: verifying against it takes as long as against that of an account. */
  private decoy: Promise<string> | undefined;

  /**
   * @param organizationId whose share of the places the password uses
   * @returns a PHC string
   * @throws DomainError `service_unavailable` if too many passwords of the organization wait
   */
  hash(password: string, organizationId: string | null): Promise<string> {
    return this.inTurn(organizationId, () => hash(normalized(password), PARAMETERS));
  }

  /**
   * Takes the same time for a missing hash, for which the answer is false.
   * @param organizationId whose share of the places the password uses
   * @throws DomainError `service_unavailable` if too many passwords of the organization wait
   */
  async verify(password: string, stored: string | null | undefined, organizationId: string | null): Promise<boolean> {
    this.decoy ??= hash('', PARAMETERS);
    const expected = stored ?? (await this.decoy);
    const isRight = await this.inTurn(organizationId, () => verify(expected, normalized(password)));
    return isRight && stored != null;
  }

  private inTurn<T>(organizationId: string | null, work: () => Promise<T>): Promise<T> {
    return this.share.within([organizationId ?? NO_ORGANIZATION], work);
  }
}

/** The same password can arrive in several Unicode forms, depending on the keyboard (RFC 8265). */
function normalized(password: string): string {
  return password.normalize('NFC');
}

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
