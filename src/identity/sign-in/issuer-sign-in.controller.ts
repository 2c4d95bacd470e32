import { hash } from 'node:crypto';
import { Controller, Logger, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { databaseNow } from '../../core/database-time.js';
import { CookieNames } from '../browser-sessions/cookie-names.js';
import { DomainError } from '../../core/domain-error.js';
import { cookieNamesWith, readCookie, setCookie } from '../../platform/http/cookies.js';
import { AGAIN_FIELD, queryOf } from '../../platform/pages/form.js';
import { localPathOf } from '../../platform/pages/local-path.js';
import { GetPage } from '../../platform/pages/page-route.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { IssuerAccounts } from './issuer-accounts.js';
import { IdTokens } from '../openid/id-tokens.js';
import { OpenIdClient, type PendingSignIn } from '../openid/openid-client.js';
import { SIGN_IN_PATH } from './sign-in.controller.js';
import { SignInService } from './sign-in.service.js';

const CONTEXT = 'cookie:oidc';
const LIFETIME_S = 600;
const COOKIE_PREFIX = 'sbx_oidc_';
/** In one browser; another one ends them all. */
const MAX_IN_PROGRESS = 8;
/** Of the hash of a state, in the name of its cookie. */
const STATE_DIGITS = 16;

interface Started extends PendingSignIn {
  readonly returnTo: string | undefined;
  readonly expiresAt: number;
}

/**
 * Signs people in with an OpenID issuer. An encrypted cookie binds the callback to the browser that started; each
 * sign-in has its own, so that several can be in progress.
 */
@Controller('auth/oidc')
export class IssuerSignInController {
  private readonly logger = new Logger(IssuerSignInController.name);

  constructor(
    private readonly client: OpenIdClient,
    private readonly idTokens: IdTokens,
    private readonly accounts: IssuerAccounts,
    private readonly signIns: SignInService,
    private readonly vault: VaultService,
    private readonly cookies: CookieNames,
  ) {}

  @GetPage('')
  async start(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (this.client.issuerName === undefined) throw new DomainError('unknown_route');
    const returnTo = localPathOf(queryOf(request, 'return_to'));
    const isAgain = queryOf(request, AGAIN_FIELD) !== '';
    const isOffline = await this.idTokens.areNeeded();
    const { url, pending } = await this.client.begin({ isAgain, isOffline }).catch((error: Error) => this.fail(error));
    const started: Started = { ...pending, returnTo, expiresAt: databaseNow() + LIFETIME_S * 1000 };
    const sealed = Buffer.from(this.vault.seal(JSON.stringify(started), CONTEXT)).toString('base64url');
    const { isSecure } = this.cookies;
    // Other sites can start sign-ins in this browser; their cookies must not fill up the headers of its requests.
    const earlier = cookieNamesWith(request, this.cookies.named(COOKIE_PREFIX));
    if (earlier.length >= MAX_IN_PROGRESS) {
      for (const name of earlier) setCookie(reply, name, '', { isSecure, maxAge: 0 });
    }
    setCookie(reply, this.cookieNameFor(pending.state), sealed, { isSecure, maxAge: LIFETIME_S });
    void reply.redirect(url, 303);
  }

  @GetPage('callback')
  async callback(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (this.client.issuerName === undefined) throw new DomainError('unknown_route');
    const cookieName = this.cookieNameFor(queryOf(request, 'state'));
    const started = this.read(request, cookieName);
    setCookie(reply, cookieName, '', { isSecure: this.cookies.isSecure, maxAge: 0 });
    if (started === undefined || queryOf(request, 'state') !== started.state) {
      throw new DomainError(
        'csrf_invalid',
        'This browser did not start the sign-in, or it took too long. Sign in again.',
      );
    }
    const query = new URL(request.url, 'http://service.invalid').search;
    const { claims, tokens } = await this.client.finish(query, started).catch((error: Error) => this.fail(error));
    const user = await this.accounts.accountOf(claims);
    const secret = await this.signIns.complete(request, reply, user);
    await this.idTokens.keep(secret, tokens);
    void reply.redirect(started.returnTo ?? SIGN_IN_PATH, 303);
  }

  private cookieNameFor(state: string): string {
    return this.cookies.named(`${COOKIE_PREFIX}${hash('sha256', state).slice(0, STATE_DIGITS)}`);
  }

  private read(request: FastifyRequest, cookieName: string): Started | undefined {
    const cookie = readCookie(request, cookieName);
    if (cookie === undefined) return undefined;
    try {
      const started = JSON.parse(this.vault.open(Buffer.from(cookie, 'base64url').toString(), CONTEXT)) as Started;
      return started.expiresAt > databaseNow() ? started : undefined;
    } catch {
      return undefined;
    }
  }

  /** @throws DomainError always */
  private fail(error: Error): never {
    this.logger.warn(`A sign-in with the issuer failed: ${error.message}`);
    throw new DomainError('permission_denied', `The sign-in with ${this.client.issuerName} failed. Try again.`);
  }
}
