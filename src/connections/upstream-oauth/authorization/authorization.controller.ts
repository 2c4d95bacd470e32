import { Controller, Get, HttpStatus, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../../../identity/browser-sessions/browser-sessions.js';
import { CsrfTokens } from '../../../identity/browser-sessions/csrf-tokens.js';
import { IdTokens } from '../../../identity/openid/id-tokens.js';
import { OpenIdClient } from '../../../identity/openid/openid-client.js';
import { Access } from '../../../core/access.js';
import { DomainError } from '../../../core/domain-error.js';
import { queryOf } from '../../../platform/pages/form.js';
import { html } from '../../../platform/pages/html.js';
import { GetPage } from '../../../platform/pages/page-route.js';
import { sendPage } from '../../../platform/pages/send-page.js';
import type { SignedInBrowser } from './upstream-log-in.repository.js';
import { UpstreamClients } from './upstream-clients.js';
import { UpstreamLogIns } from './upstream-log-ins.js';

/** The pages on which a person authorizes the account of a connection. They need a signed-in browser. */
@ApiExcludeController()
@Controller()
export class AuthorizationController {
  constructor(
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
    private readonly logIns: UpstreamLogIns,
    private readonly clients: UpstreamClients,
    private readonly idTokens: IdTokens,
    private readonly issuer: OpenIdClient,
  ) {}

  /**
   * Says what the account is for. Without this page, a link on another site could connect the account of its visitor.
   */
  @GetPage('connections/:id/authorize')
  async show(@Param('id') id: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const browser = await this.browserOf(request);
    if (browser === undefined) return signInFirst(id, reply);
    const { title, host, isShared, isEnterprise, redirectUri } = await this.logIns.describe(id, browser.userId);
    if (isEnterprise) return this.showSignIn(id, title, browser, reply);
    const users = isShared ? 'Everyone who can call the connection' : 'Only you';
    const body = html`<p>
        The connection “${title}” needs an account at <strong>${host}</strong>. You log in there next. ${users} will use
        the account that you choose.
      </p>
      ${redirectUri === undefined ? '' : html`<p class="note">The client there needs the redirect address ${redirectUri}</p>`}
      <p class="buttons">
        <a class="button primary" href="${pathOf(id)}/continue?${this.csrf.linkQueryFor(request, reply)}">Continue</a>
      </p>`;
    sendPage(reply, { title: 'Connect an account', body });
  }

  @GetPage('connections/:id/authorize/continue')
  async begin(@Param('id') id: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const browser = await this.browserOf(request);
    if (browser === undefined) return signInFirst(id, reply);
    this.csrf.requireValidLink(request);
    const url = await this.logIns.begin(id, browser);
    void reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    await reply.redirect(url, HttpStatus.SEE_OTHER);
  }

  /** Without a place: for log-ins that a process of an earlier release has begun. */
  @GetPage(['oauth/callback', 'oauth/callback/:place'])
  async callback(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const browser = await this.browserOf(request);
    if (browser === undefined) {
      throw new DomainError('invalid_request', 'Nobody is signed in with this browser. Begin the log-in again.');
    }
    const [state, code, iss, error] = ['state', 'code', 'iss', 'error'].map(
      (name) => queryOf(request, name) || undefined,
    );
    const [path = ''] = request.url.split('?');
    const title = await this.logIns.complete({ state, code, iss, error, path }, browser);
    sendPage(reply, {
      title: 'Connected',
      body: html`<p>The connection “${title}” can now use the account. You can close this window.</p>`,
    });
  }

  @Get(['oauth/client-metadata.json', 'oauth/client-metadata/:place.json'])
  @Access('public')
  metadata(@Param('place') place?: string): object {
    const document = this.clients.metadataDocument(place);
    if (document === undefined) throw new DomainError('unknown_route');
    return document;
  }

  /** The account of the connection is that of the sign-in with the issuer, which can be renewed here. */
  private async showSignIn(id: string, title: string, { userId }: SignedInBrowser, reply: FastifyReply): Promise<void> {
    const isReady = (await this.idTokens.findId(userId)) !== undefined;
    const state = isReady
      ? 'It can be used now, unless the identity provider refuses it.'
      : 'There is none that is valid. Sign in again.';
    const body = html`<p>
        The connection “${title}” acts with your sign-in at ${this.issuer.issuerName ?? ''}. ${state}
      </p>
      <p class="buttons">
        <a class="button primary" href="/auth/oidc?return_to=${encodeURIComponent(pathOf(id))}">Sign in again</a>
      </p>`;
    sendPage(reply, { title: 'Your sign-in', body });
  }

  private async browserOf(request: FastifyRequest): Promise<SignedInBrowser | undefined> {
    const user = await this.sessions.userOf(request);
    return user && { userId: user.id, sessionId: user.sessionId };
  }
}

function pathOf(id: string): string {
  return `/connections/${encodeURIComponent(id)}/authorize`;
}

function signInFirst(id: string, reply: FastifyReply): void {
  void reply.redirect(`/sign-in?return_to=${encodeURIComponent(pathOf(id))}`, HttpStatus.SEE_OTHER);
}
