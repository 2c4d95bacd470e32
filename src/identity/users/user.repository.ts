import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { UserEntity } from './user.entity.js';

/** An account with what a sign-in compares. */
interface UserWithPassword {
  readonly user: UserEntity;
  readonly passwordHash: string | null;
}

type NewUser = Pick<UserEntity, 'id' | 'name' | 'email' | 'emailVerifiedAt' | 'passwordHash'>;

@Injectable()
export class UserRepository {
  constructor(@InjectRepository(UserEntity) private readonly users: Repository<UserEntity>) {}

  findById(id: string, manager: EntityManager = this.users.manager): Promise<UserEntity | null> {
    return manager.findOneBy(UserEntity, { id });
  }

  /** Ignores the case of the address. */
  findByEmail(email: string, manager: EntityManager = this.users.manager): Promise<UserEntity | null> {
    return this.byEmail(email, manager).getOne();
  }

  async findWithPassword(email: string): Promise<UserWithPassword | undefined> {
    const user = await this.byEmail(email, this.users.manager).addSelect('user.passwordHash').getOne();
    return user === null ? undefined : { user, passwordHash: user.passwordHash };
  }

  /** An organization of the person; null for a person who is in none, or does not exist. */
  async findOrganizationId(email: string): Promise<string | null> {
    const [row]: { id: string | null }[] = await this.users.query(
      `SELECT min(members.organization_id::text) AS id FROM users JOIN members ON members.user_id = users.id
        WHERE lower(users.email) = lower($1)`,
      [email],
    );
    return row?.id ?? null;
  }

  async insert(manager: EntityManager, user: NewUser): Promise<UserEntity> {
    await manager.insert(UserEntity, user);
    return manager.findOneByOrFail(UserEntity, { id: user.id });
  }

  async update(
    manager: EntityManager,
    id: string,
    change: Partial<Pick<UserEntity, 'name' | 'passwordHash' | 'emailVerifiedAt'>>,
  ): Promise<void> {
    await manager.update(UserEntity, { id }, change);
  }

  /** Locks the account until the transaction ends. */
  async lock(manager: EntityManager, id: string): Promise<void> {
    await manager.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [id]);
  }

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.users.manager.transaction(work);
  }

  private byEmail(email: string, manager: EntityManager) {
    return manager
      .createQueryBuilder(UserEntity, 'user')
      .where('lower(user.email) = lower(CAST(:email AS text))', { email });
  }
}
