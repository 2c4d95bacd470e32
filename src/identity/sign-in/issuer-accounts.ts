import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import { Joining } from '../organizations/joining.js';
import { IssuerIdentities } from '../users/issuer-identities.js';
import type { UserEntity } from '../users/user.entity.js';
import { UserService } from '../users/user.service.js';
import type { PersonClaims } from '../openid/openid-client.js';

/**
 * The accounts of people who sign in with an issuer: `sub` identifies them; a verified address joins who is invited.
 */
@Injectable()
export class IssuerAccounts {
  constructor(
    private readonly identities: IssuerIdentities,
    private readonly joining: Joining,
    private readonly users: UserService,
  ) {}

  /** @throws DomainError `permission_denied` for a person without an account and an invitation */
  async accountOf(claims: PersonClaims): Promise<UserEntity> {
    const known = await this.identities.findUser(claims);
    if (claims.email === undefined) return known ?? refuse('Your issuer has not verified an e-mail address of yours.');
    const { email } = claims;
    const joined = await this.joining.acceptVerified(email, ({ manager }) =>
      known === null ? this.linked(manager, email, claims) : Promise.resolve(known),
    );
    if (known !== null) return known;
    if (joined !== undefined) return joined;
    if ((await this.users.findByEmail(email)) === null) refuse(`There is no invitation for ${email}.`);
    return this.users.transaction((manager) => this.linked(manager, email, claims));
  }

  private async linked(manager: EntityManager, email: string, claims: PersonClaims): Promise<UserEntity> {
    const name = claims.name ?? email;
    const user =
      (await this.users.findByEmail(email, manager)) ??
      (await this.users.create(manager, { email, name: name.slice(0, 128), passwordHash: null, isVerified: true }));
    await this.identities.link(manager, user, claims);
    return user;
  }
}

function refuse(detail: string): never {
  throw new DomainError('permission_denied', detail);
}
