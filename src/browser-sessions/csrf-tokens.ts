import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../common/domain-error.js';
import { readCookie, setCookie } from '../http/cookies.js';
import { CSRF_FIELD, fieldOf } from '../pages/form-body.js';
import { CookieNames } from './cookie-names.js';

const CSRF_HEADER = 'x-csrf-token';
const SECRET = /^[\w-]{43}$/;

/**
 * Protects forms against requests from other sites. The token is derived from the secret in the browser's cookie: that of the
 * session, or of a cookie that `tokenFor` sets for a browser that is not signed in.
 */
@Injectable()
export class CsrfTokens {
  constructor(private readonly cookies: CookieNames) {}

  /** The token for a form on the page that `reply` sends. */
  tokenFor(request: FastifyRequest, reply: FastifyReply): string {
    const secret = this.secretOf(request);
    if (secret !== undefined) return tokenOf(secret);
    const fresh = randomBytes(32).toString('base64url');
    setCookie(reply, this.cookies.visitor, fresh, { isSecure: this.cookies.isSecure });
    return tokenOf(fresh);
  }

  /**
   * Checks the field `csrf_token` of a posted form, or the header `x-csrf-token`. Also refuses what the browser itself declares
   * as coming from another site (`Sec-Fetch-Site`).
   * @throws DomainError `csrf_invalid`
   */
  requireValid(request: FastifyRequest): void {
    const secret = this.secretOf(request);
    const header = request.headers[CSRF_HEADER];
    const token = typeof header === 'string' ? header : fieldOf(request, CSRF_FIELD);
    if (secret !== undefined && isEqual(token, tokenOf(secret)) && !isFromOtherSite(request)) return;
    throw new DomainError('csrf_invalid', 'Go back, reload the page and try again.');
  }

  private secretOf(request: FastifyRequest): string | undefined {
    const { session, visitor } = this.cookies;
    const secret = readCookie(request, session) ?? readCookie(request, visitor);
    return secret !== undefined && SECRET.test(secret) ? secret : undefined;
  }
}

function isFromOtherSite({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

function tokenOf(secret: string): string {
  return createHmac('sha256', secret).update('csrf').digest('base64url');
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
