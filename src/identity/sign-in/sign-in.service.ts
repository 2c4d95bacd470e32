import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import type { UserEntity } from '../users/user.entity.js';
import { personAsActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { passwordChanged } from '../organizations/password-resets.js';
import { UserService } from '../users/user.service.js';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { networkOf } from '../../core/network-of.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import { hashedKey, WindowCounts } from '../../platform/database/window-counts.js';
import { newId } from '../../core/ids.js';
import { CookieNames } from '../browser-sessions/cookie-names.js';
import { readCookie, setCookie } from '../../platform/http/cookies.js';
import { VaultService } from '../../platform/vault/vault.service.js';

const WINDOW_S = 15 * 60;
const PER_ADDRESS = { max: 10, windowS: WINDOW_S, what: 'failed sign-ins' };
const PER_SOURCE = { ...PER_ADDRESS, max: 100 };

/** Who tries to sign in. */
interface Attempt {
  readonly email: string;
  /** The IP address of the client. */
  readonly source: string;
  /** Of `KnownAccounts`: a browser that has been signed in to the account has a count of its own. */
  readonly knownAs: string | undefined;
}

/**
 * Limits failed sign-ins in 15 minutes to 10 for an address from one source, and to 100 from one source. All processes
 * share the counts. Keys are hashes, so that the table holds no addresses.
 */
@Injectable()
export class FailedSignIns {
  private readonly counts: WindowCounts;

  constructor(statements: PreparedStatements) {
    this.counts = new WindowCounts(statements, 'failed_sign_ins');
  }

  @DeletesExpired('counts of failed sign-ins')
  deleteExpired(): Promise<number> {
    return this.counts.deleteExpired();
  }

  /**
   * Counts the attempt as failed before the password is verified, so that attempts at the same time cannot exceed the
   * limit. Returns a function that takes it back after a successful sign-in.
   * @throws DomainError `too_many_requests` with `Retry-After`, whatever the password
   */
  async begin({ email, source, knownAs }: Attempt): Promise<() => Promise<void>> {
    const address = email.toLowerCase();
    const network = networkOf(source);
    const counted =
      knownAs === undefined
        ? [
            { key: `source:${hashedKey(network)}`, limit: PER_SOURCE },
            { key: `address:${hashedKey(address, network)}`, limit: PER_ADDRESS },
          ]
        : [{ key: `address:${hashedKey('known', knownAs)}`, limit: PER_ADDRESS }];
    for (const { key, limit } of counted) await this.counts.addWithin(key, limit);
    return async () => {
      for (const { key } of counted) await this.counts.add(key, -1, WINDOW_S);
    };
  }
}

const CONTEXT = 'cookie:known-accounts';
const KEPT_S = 400 * 24 * 3600;
const MAX_ACCOUNTS = 5;

/** Account id → an id of the pair of this browser and the account. */
type Known = Readonly<Record<string, string>>;

/**
 * Remembers in an encrypted cookie which accounts have been signed in with this browser. Their sign-ins are counted
 * apart, so that failed attempts of other people cannot lock the owner of an account out.
 */
@Injectable()
export class KnownAccounts {
  constructor(
    private readonly vault: VaultService,
    private readonly cookies: CookieNames,
  ) {}

  /** Identifies this browser together with the account; undefined unless the account has been signed in with it. */
  idOf(request: FastifyRequest, userId: string | undefined): string | undefined {
    const known = this.read(request);
    return userId !== undefined && Object.hasOwn(known, userId) ? known[userId] : undefined;
  }

  remember(request: FastifyRequest, reply: FastifyReply, userId: string): void {
    const { [userId]: id = newId(), ...others } = this.read(request);
    const known = Object.fromEntries([...Object.entries(others).slice(1 - MAX_ACCOUNTS), [userId, id]]);
    const sealed = this.vault.seal(JSON.stringify(known), CONTEXT);
    const { isSecure, knownAccounts } = this.cookies;
    setCookie(reply, knownAccounts, Buffer.from(sealed).toString('base64url'), { isSecure, maxAge: KEPT_S });
  }

  private read(request: FastifyRequest): Known {
    const cookie = readCookie(request, this.cookies.knownAccounts);
    if (cookie === undefined) return {};
    try {
      return JSON.parse(this.vault.open(Buffer.from(cookie, 'base64url').toString(), CONTEXT)) as Known;
    } catch {
      // Forged, or sealed under a key that is no longer in use.
      return {};
    }
  }
}

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
