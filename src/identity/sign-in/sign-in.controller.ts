import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import { inertName } from '../../core/inert-name.js';
import { DomainError } from '../../core/domain-error.js';
import { AppConfig } from '../../core/config/app-config.js';
import { OrganizationsService } from '../organizations/organizations.service.js';
import type { SignedInUser } from '../browser-sessions/browser-session.repository.js';
import { CsrfTokens } from '../browser-sessions/csrf-tokens.js';
import { AGAIN_FIELD, fieldOf, queryOf, alert, form } from '../../platform/pages/form.js';
import { CONSOLE_PATH } from '../../platform/pages/home.controller.js';
import { html, type Html } from '../../platform/pages/html.js';
import { localPathOf } from '../../platform/pages/local-path.js';
import { GetPage, PostForm } from '../../platform/pages/page-route.js';
import { sendPage } from '../../platform/pages/send-page.js';
import { OpenIdClient } from '../openid/openid-client.js';
import { SignInService } from './sign-in.service.js';

export const SIGN_IN_PATH = '/sign-in';
/** Where a signed-in person changes the password. */
export const PASSWORD_PATH = '/password';

/** What the page of the sign-in shows. */
interface SignInForm {
  readonly returnTo: string | undefined;
  readonly isAgain?: boolean;
  readonly email?: string | undefined;
  readonly fault?: DomainError;
}

/** Signs people in with their password, and out. */
@Controller()
export class SignInController {
  constructor(
    private readonly signIns: SignInService,
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
    private readonly issuer: OpenIdClient,
    private readonly organizations: OrganizationsService,
    private readonly config: AppConfig,
  ) {}

  @GetPage('sign-in')
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const user = await this.sessions.userOf(request);
    const returnTo = localPathOf(queryOf(request, 'return_to'));
    const isAgain = queryOf(request, AGAIN_FIELD) !== '';
    if (user === undefined || isAgain) this.sendForm(request, reply, { returnTo, isAgain, email: user?.email });
    else if (returnTo === undefined) await this.sendSignedIn(request, reply, user);
    else void reply.redirect(returnTo, 303);
  }

  @PostForm('sign-in')
  async signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const email = fieldOf(request, 'email').trim();
    const returnTo = localPathOf(fieldOf(request, 'return_to'));
    // The form is from before another page of this browser signed in, which replaced the secret of its token.
    const signedIn = this.csrf.isValid(request) ? undefined : await this.sessions.userOf(request);
    if (signedIn !== undefined) {
      const isSame = signedIn.email.toLowerCase() === email.toLowerCase();
      return void reply.redirect((isSame ? returnTo : undefined) ?? SIGN_IN_PATH, 303);
    }
    this.csrf.requireValid(request);
    const user = await this.signIns.verify(request, email, fieldOf(request, 'password')).catch(tooMany);
    if (user === undefined || user instanceof DomainError) {
      const fault = user ?? new DomainError('credential_invalid', 'The e-mail address or the password is wrong.');
      return this.sendForm(request, reply, { returnTo, email, fault });
    }
    await this.signIns.complete(request, reply, user);
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
    { returnTo, isAgain = false, email, fault }: SignInForm,
  ): void {
    const fields = [
      { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', maxLength: 254 },
      { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', maxLength: 1024 },
    ] as const;
    const [address, password] = fields;
    if (fault?.code === 'too_many_requests') void reply.headers(fault.headers);
    sendPage(reply, {
      title: 'Sign in',
      status: fault?.status ?? 200,
      formActions: redirectTargetOf(returnTo),
      body: html`${fault?.detail !== undefined && alert(fault.detail)}
        ${isAgain && html`<p>The application asks you to sign in again.</p>`}
        ${form({
          action: SIGN_IN_PATH,
          csrfToken: this.csrf.tokenFor(request, reply),
          hidden: { return_to: returnTo },
          fields: [{ ...address, ...(email === undefined ? { hasFocus: true } : { value: email }) }, password],
          buttons: [{ label: 'Sign in' }],
        })}
        ${this.issuerLink(returnTo, isAgain)}
        <p class="note after">
          Forgot the password? An owner or admin of your organization can give you a link to set a new one.
        </p>`,
    });
  }

  private issuerLink(returnTo: string | undefined, isAgain: boolean): Html | false {
    const { issuerName } = this.issuer;
    if (issuerName === undefined) return false;
    const query = new URLSearchParams({
      ...(returnTo !== undefined && { return_to: returnTo }),
      ...(isAgain && { [AGAIN_FIELD]: '1' }),
    });
    const address = query.size === 0 ? '/auth/oidc' : `/auth/oidc?${query.toString()}`;
    return html`<p class="or">or</p>
      <a class="button secondary" href="${address}">Sign in with ${issuerName}</a>`;
  }

  private async sendSignedIn(request: FastifyRequest, reply: FastifyReply, user: SignedInUser): Promise<void> {
    const memberships = await this.organizations.membershipsOf(user.id);
    sendPage(reply, {
      title: `Signed in as ${user.name}`,
      body: html`<p>${user.email}</p>
        ${
          memberships.length === 0
            ? html`<p>You are not a member of any organization.</p>`
            : html`<dl>
                ${memberships.map(
                  ({ organizationName, role }) =>
                    html`<dt>Role in ${inertName(organizationName)}</dt>
                      <dd>${role}</dd>`,
                )}
              </dl>`
        }
        ${this.config.servesConsole && html`<p><a href="${CONSOLE_PATH}">Open the console</a></p>`}
        <p><a href="${PASSWORD_PATH}">Change your password</a></p>
        ${form({
          action: '/sign-out',
          csrfToken: this.csrf.tokenFor(request, reply),
          buttons: [{ label: 'Sign out' }],
        })}`,
    });
  }
}

function tooMany(error: unknown): DomainError {
  if (error instanceof DomainError && error.code === 'too_many_requests') return error;
  throw error;
}

/**
 * The origin (or the scheme) of a `redirect_uri` in the path, to which the service can redirect right after the
 * sign-in: an authorization request whose consent is remembered.
 */
function redirectTargetOf(path: string | undefined): string[] {
  const target = path === undefined ? null : new URL(path, 'http://service.invalid').searchParams.get('redirect_uri');
  const url = target === null ? null : URL.parse(target);
  if (url === null) return [];
  return [url.origin === 'null' ? url.protocol : url.origin];
}
