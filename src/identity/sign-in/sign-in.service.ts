import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import type { UserEntity } from '../users/user.entity.js';
import { personAsActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { passwordChanged } from '../organizations/password-resets.js';
import { UserService } from '../users/user.service.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { KnownAccounts } from './known-accounts.js';

/** Longer text is no password of ours; it is not hashed. */
const MAX_PASSWORD_LENGTH = 1024;
const MAX_EMAIL_LENGTH = 254;

/** Verifies passwords, and limits how often they can be wrong. */
@Injectable()
export class SignInService {
  private readonly logger = new Logger(SignInService.name);

  constructor(
    private readonly users: UserService,
    private readonly failed: FailedSignIns,
    private readonly known: KnownAccounts,
    private readonly events: AuditEvents,
    private readonly sessions: BrowserSessions,
  ) {}

  /**
   * The person with this address and password; undefined if one of them is wrong.
   * @throws DomainError `too_many_requests`, `service_unavailable`
   */
  async verify(request: FastifyRequest, email: string, password: string): Promise<UserEntity | undefined> {
    const account = email.length > MAX_EMAIL_LENGTH ? null : await this.users.findByEmail(email);
    const knownAs = this.known.idOf(request, account?.id);
    // The account's own spelling: the database folds more characters than ASCII, and each spelling would have a count
    // of its own.
    const address = account?.email ?? email;
    const takeBack = await this.failed.begin({ email: address, source: request.ip, knownAs });
    const user = await this.users.verifyPassword(
      email.slice(0, MAX_EMAIL_LENGTH),
      password.length > MAX_PASSWORD_LENGTH ? '' : password,
    );
    if (user === undefined) {
      // The response does not wait: its time would reveal which addresses are known.
      this.events.recordFailedSignIn(email).catch((error: Error) => {
        this.logger.warn(`Failed to record a failed sign-in: ${error.message}`);
      });
      return undefined;
    }
    await takeBack();
    return user;
  }

  /** Signs the person in with this browser. Returns the secret of the session, for `CsrfTokens.tokenOfSession`. */
  async complete(request: FastifyRequest, reply: FastifyReply, { id, email }: UserEntity): Promise<string> {
    const secret = await this.start(request, reply, id);
    const target = { type: 'user', id, name: email } as const;
    await this.events.recordForMember(id, { event: 'login.succeeded', actor: personAsActor(id), target });
    return secret;
  }

  /**
   * Sets the person's password, ends all sessions and grants of the person, and signs this browser in again.
   * @param verified from `verify` with the current password
   * @param password has passed `passwordFault`
   * @throws DomainError `conflict` if the account has changed since the verification
   */
  async changePassword(
    request: FastifyRequest,
    reply: FastifyReply,
    verified: UserEntity,
    password: string,
  ): Promise<void> {
    const passwordHash = await this.users.hashPasswordOf(verified, password);
    await this.users.transaction(async (manager) => {
      await this.users.replacePassword(manager, verified, passwordHash);
      await this.events.recordForMember(verified.id, passwordChanged(verified), manager);
    });
    await this.start(request, reply, verified.id);
  }

  /**
   * Opens a session for a person who has just proved who they are, and remembers that this browser knows the account.
   */
  async start(request: FastifyRequest, reply: FastifyReply, userId: string): Promise<string> {
    this.known.remember(request, reply, userId);
    return this.sessions.start(request, reply, userId);
  }
}
