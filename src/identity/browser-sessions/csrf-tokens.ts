import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { equalSecrets } from '../../core/equal-secrets.js';
import { DomainError } from '../../core/domain-error.js';
import { readCookie, setCookie } from '../../platform/http/cookies.js';
import { CSRF_FIELD, fieldOf, queryOf } from '../../platform/pages/form.js';
import { CookieNames } from './cookie-names.js';

/** A token of one use is not valid for the other. */
type Use = 'form' | 'link';

/** Where scripts of the service's own pages send the token of forms. */
export const CSRF_HEADER = 'x-csrf-token';
const SECRET = /^[\w-]{43}$/;

/**
 * Protects forms, and links that have an effect, against requests from other sites. The token is derived from the
 * secret in the browser's cookie: that of the session, or of a cookie that this class sets for a browser that is not
 * signed in.
 */
@Injectable()
export class CsrfTokens {
  constructor(private readonly cookies: CookieNames) {}

  /** The token for a form on the page that `reply` sends. */
  tokenFor(request: FastifyRequest, reply: FastifyReply): string {
    return this.token('form', request, reply);
  }

  /**
   * The token for forms of a session that the current request has started.
   * @param secret from `BrowserSessions.start`
   */
  tokenOfSession(secret: string): string {
    return tokenOf(secret, 'form');
  }

  /**
   * Checks the field `csrf_token` of a posted form, or the header `x-csrf-token`. Also refuses what the browser itself
   * declares as coming from another site (`Sec-Fetch-Site`).
   * @throws DomainError `csrf_invalid`
   */
  requireValid(request: FastifyRequest): void {
    if (!this.isValid(request)) throw invalid();
  }

  /** The same without an error. */
  isValid(request: FastifyRequest): boolean {
    const header = request.headers[CSRF_HEADER];
    return this.isTokenFor(request, 'form', typeof header === 'string' ? header : fieldOf(request, CSRF_FIELD));
  }

  /**
   * The query of a link that has an effect, on the page that `reply` sends. For steps that lead on to another server,
   * to which the answer to a form may not redirect (`form-action`). Its token is not that of forms: addresses reach
   * logs and histories.
   */
  linkQueryFor(request: FastifyRequest, reply: FastifyReply): string {
    return new URLSearchParams({ [CSRF_FIELD]: this.token('link', request, reply) }).toString();
  }

  /** Checks the request of such a link. @throws DomainError `csrf_invalid` */
  requireValidLink(request: FastifyRequest): void {
    if (!this.isTokenFor(request, 'link', queryOf(request, CSRF_FIELD))) throw invalid();
  }

  private token(use: Use, request: FastifyRequest, reply: FastifyReply): string {
    const secret = this.secretOf(request);
    if (secret !== undefined) return tokenOf(secret, use);
    const fresh = randomBytes(32).toString('base64url');
    setCookie(reply, this.cookies.visitor, fresh, { isSecure: this.cookies.isSecure });
    return tokenOf(fresh, use);
  }

  private isTokenFor(request: FastifyRequest, use: Use, token: string): boolean {
    const secret = this.secretOf(request);
    return secret !== undefined && equalSecrets(token, tokenOf(secret, use)) && !isFromOtherSite(request);
  }

  private secretOf(request: FastifyRequest): string | undefined {
    const { session, visitor } = this.cookies;
    const secret = readCookie(request, session) ?? readCookie(request, visitor);
    return secret !== undefined && SECRET.test(secret) ? secret : undefined;
  }
}

function invalid(): DomainError {
  return new DomainError('csrf_invalid', 'Go back, reload the page and try again.');
}

function isFromOtherSite({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

function tokenOf(secret: string, use: Use): string {
  return createHmac('sha256', secret).update(`csrf ${use}`).digest('base64url');
}
