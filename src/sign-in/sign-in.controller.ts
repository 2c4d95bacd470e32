import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import type { SignedInUser } from '../browser-sessions/browser-session.repository.js';
import { CsrfTokens } from '../browser-sessions/csrf-tokens.js';
import { fieldOf, queryOf } from '../pages/form-body.js';
import { alert, form } from '../pages/form.js';
import { html } from '../pages/html.js';
import { localPathOf } from '../pages/local-path.js';
import { GetPage, PostForm } from '../pages/page-route.js';
import { sendPage } from '../pages/send-page.js';
import { SignInService } from './sign-in.service.js';

export const SIGN_IN_PATH = '/sign-in';

/** Signs people in with their password, and out. */
@Controller()
export class SignInController {
  constructor(
    private readonly signIns: SignInService,
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
  ) {}

  @GetPage('sign-in')
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const user = await this.sessions.userOf(request);
    const returnTo = localPathOf(queryOf(request, 'return_to'));
    if (user === undefined) this.sendForm(request, reply, { returnTo });
    else if (returnTo === undefined) this.sendSignedIn(request, reply, user);
    else void reply.redirect(returnTo, 303);
  }

  @PostForm('sign-in')
  async signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.csrf.requireValid(request);
    const email = fieldOf(request, 'email').trim();
    const returnTo = localPathOf(fieldOf(request, 'return_to'));
    const user = await this.signIns.verify(request, reply, email, fieldOf(request, 'password'));
    if (user === undefined) {
      const fault = 'The e-mail address or the password is wrong.';
      return this.sendForm(request, reply, { returnTo, email, fault });
    }
    await this.sessions.start(request, reply, user.id);
    void reply.redirect(returnTo ?? SIGN_IN_PATH, 303);
  }

  @PostForm('sign-out')
  async signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.csrf.requireValid(request);
    await this.sessions.end(request, reply);
    void reply.redirect(localPathOf(fieldOf(request, 'return_to')) ?? SIGN_IN_PATH, 303);
  }

  private sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { returnTo, email, fault }: { returnTo: string | undefined; email?: string; fault?: string },
  ): void {
    const fields = [
      { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', maxLength: 254 },
      { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', maxLength: 1024 },
    ] as const;
    const [address, password] = fields;
    sendPage(reply, {
      title: 'Sign in',
      status: fault === undefined ? 200 : 401,
      formActions: redirectTargetOf(returnTo),
      body: html`${fault !== undefined && alert(fault)}
      ${form({
        action: SIGN_IN_PATH,
        csrfToken: this.csrf.tokenFor(request, reply),
        hidden: { return_to: returnTo },
        fields: [{ ...address, ...(email === undefined ? { hasFocus: true } : { value: email }) }, password],
        buttons: [{ label: 'Sign in' }],
      })}`,
    });
  }

  private sendSignedIn(request: FastifyRequest, reply: FastifyReply, { name, email }: SignedInUser): void {
    sendPage(reply, {
      title: `Signed in as ${name}`,
      body: html`<p>${email}</p>
        ${form({
          action: '/sign-out',
          csrfToken: this.csrf.tokenFor(request, reply),
          buttons: [{ label: 'Sign out' }],
        })}`,
    });
  }
}

/**
 * The origin (or the scheme) of a `redirect_uri` in the path, to which the service can redirect right after the sign-in: an
 * authorization request whose consent is remembered.
 */
function redirectTargetOf(path: string | undefined): string[] {
  const target = path === undefined ? null : new URL(path, 'http://service.invalid').searchParams.get('redirect_uri');
  const url = target === null ? null : URL.parse(target);
  if (url === null) return [];
  return [url.origin === 'null' ? url.protocol : url.origin];
}
