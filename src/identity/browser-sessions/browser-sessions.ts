import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { databaseNow } from '../../core/database-time.js';
import { newId } from '../../core/ids.js';
import { readCookie, setCookie } from '../../platform/http/cookies.js';
import { PasswordChanges } from '../users/password-changes.js';
import { BrowserSessionRepository, type SignedInUser } from './browser-session.repository.js';
import { CookieNames } from './cookie-names.js';

/** A session ends after this time in any case, in seconds. */
const LIFETIME_S = 30 * 24 * 3600;
const SECRET = /^[\w-]{43}$/;

/**
 * Signed-in browsers. The cookie holds a random secret of which the database has the hash. By itself it opens pages
 * only: below `/api`, it is a credential together with a CSRF token in a header
 * (`console/browser-session.verifier.ts`). All sessions of a person end when the password changes.
 */
@Injectable()
export class BrowserSessions {
  constructor(
    private readonly repository: BrowserSessionRepository,
    private readonly cookies: CookieNames,
    passwordChanges: PasswordChanges,
  ) {
    passwordChanges.register((manager, userId) => this.repository.deleteOfUser(manager, userId));
  }

  /** The person who is signed in with this browser; undefined for nobody. Reads the database. */
  async userOf(request: FastifyRequest): Promise<SignedInUser | undefined> {
    const secretHash = this.hashOf(request);
    return secretHash === undefined ? undefined : this.repository.findUser(secretHash);
  }

  /** The hash under which the session of this browser is stored, if it exists; undefined without a session cookie. */
  hashOf(request: FastifyRequest): string | undefined {
    const secret = readCookie(request, this.cookies.session);
    return secret !== undefined && SECRET.test(secret) ? sessionHashOf(secret) : undefined;
  }

  /**
   * Signs a person in: ends the browser's session, if any, and sets the cookie of a new one. Returns the secret in it,
   * for `CsrfTokens.tokenOfSession`.
   */
  async start(request: FastifyRequest, reply: FastifyReply, userId: string): Promise<string> {
    await this.deleteStored(request);
    const secret = randomBytes(32).toString('base64url');
    const expiresAt = new Date(databaseNow() + LIFETIME_S * 1000);
    await this.repository.insert({ id: newId(), secretHash: sessionHashOf(secret), userId, expiresAt });
    const { isSecure, session, visitor } = this.cookies;
    setCookie(reply, session, secret, { isSecure, maxAge: LIFETIME_S });
    setCookie(reply, visitor, '', { isSecure, maxAge: 0 });
    return secret;
  }

  /** Signs the browser out. */
  async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.deleteStored(request);
    setCookie(reply, this.cookies.session, '', { isSecure: this.cookies.isSecure, maxAge: 0 });
  }

  private async deleteStored(request: FastifyRequest): Promise<void> {
    const secretHash = this.hashOf(request);
    if (secretHash !== undefined) await this.repository.deleteByHash(secretHash);
  }
}

/** The hash under which a session is stored. @param secret from `BrowserSessions.start` */
export function sessionHashOf(secret: string): string {
  return hash('sha256', secret);
}
