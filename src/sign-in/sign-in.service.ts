import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { UserEntity } from '../users/user.entity.js';
import { UserService } from '../users/user.service.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { KnownAccounts } from './known-accounts.js';

/** Longer text is no password of ours; it is not hashed. */
const MAX_PASSWORD_LENGTH = 1024;
const MAX_EMAIL_LENGTH = 254;

/** Verifies passwords, and limits how often they can be wrong. */
@Injectable()
export class SignInService {
  constructor(
    private readonly users: UserService,
    private readonly failed: FailedSignIns,
    private readonly known: KnownAccounts,
  ) {}

  /**
   * The person with this address and password; undefined if one of them is wrong. Remembers in `reply` that the person uses
   * this browser.
   * @throws DomainError `too_many_requests`, `service_unavailable`
   */
  async verify(
    request: FastifyRequest,
    reply: FastifyReply,
    email: string,
    password: string,
  ): Promise<UserEntity | undefined> {
    const account = email.length > MAX_EMAIL_LENGTH ? null : await this.users.findByEmail(email);
    const knownAs = this.known.idOf(request, account?.id);
    const takeBack = await this.failed.begin({ email, source: request.ip, knownAs });
    const user = await this.users.verifyPassword(
      email.slice(0, MAX_EMAIL_LENGTH),
      password.length > MAX_PASSWORD_LENGTH ? '' : password,
    );
    if (user === undefined) return undefined;
    await takeBack();
    this.known.remember(request, reply, user.id);
    return user;
  }
}
