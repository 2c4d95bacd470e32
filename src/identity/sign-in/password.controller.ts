import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import type { SignedInUser } from '../browser-sessions/browser-session.repository.js';
import { CsrfTokens } from '../browser-sessions/csrf-tokens.js';
import { fieldOf, form } from '../../platform/pages/form.js';
import { html } from '../../platform/pages/html.js';
import { GetPage, PostForm } from '../../platform/pages/page-route.js';
import { sendPage } from '../../platform/pages/send-page.js';
import { passwordFault } from '../users/password-rules.js';
import { UserService } from '../users/user.service.js';
import { newPasswordField, ownAddressField } from './new-password.js';
import { OpenIdClient } from '../openid/openid-client.js';
import { PASSWORD_PATH, SIGN_IN_PATH } from './sign-in.controller.js';
import { SignInService } from './sign-in.service.js';

interface Faults {
  readonly current?: string | undefined;
  readonly password?: string | undefined;
}

/** The page where a signed-in person changes the own password. */
@Controller()
export class PasswordController {
  constructor(
    private readonly signIns: SignInService,
    private readonly users: UserService,
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
    private readonly issuer: OpenIdClient,
  ) {}

  @GetPage('password')
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const user = await this.sessions.userOf(request);
    if (user === undefined) return signInFirst(reply);
    if (await this.users.hasPassword(user.email)) this.sendForm(request, reply, user);
    else this.sendNoPassword(reply);
  }

  @PostForm('password')
  async change(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.csrf.requireValid(request);
    const user = await this.sessions.userOf(request);
    if (user === undefined) return signInFirst(reply);
    if (!(await this.users.hasPassword(user.email))) return this.sendNoPassword(reply);
    const [current, password] = [fieldOf(request, 'current_password'), fieldOf(request, 'password')];
    // Before the verification, so that a form with another fault does not count as a failed attempt.
    const faults = faultsOf(current, password, user.email);
    if (faults !== undefined) return this.sendForm(request, reply, user, faults);
    const verified = await this.signIns.verify(request, user.email, current);
    if (verified === undefined) {
      return this.sendForm(request, reply, user, { current: 'The current password is wrong.' });
    }
    await this.signIns.changePassword(request, reply, verified, password);
    void reply.redirect(`${PASSWORD_PATH}/changed`, 303);
  }

  @GetPage('password/changed')
  async showChanged(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if ((await this.sessions.userOf(request)) === undefined) return signInFirst(reply);
    sendPage(reply, {
      title: 'Your password is changed',
      body: html`<p>
          All your other sessions have ended. Applications that you had connected need to be connected again.
        </p>
        <p><a href="${SIGN_IN_PATH}">Back to your account</a></p>`,
    });
  }

  private sendForm(request: FastifyRequest, reply: FastifyReply, { email }: SignedInUser, faults: Faults = {}): void {
    sendPage(reply, {
      title: 'Change your password',
      status: faults.current === undefined && faults.password === undefined ? 200 : 422,
      body: html`<p>This ends your other sessions and revokes the access of all applications.</p>
        ${form({
          action: PASSWORD_PATH,
          csrfToken: this.csrf.tokenFor(request, reply),
          fields: [
            ownAddressField(email),
            {
              name: 'current_password',
              label: 'Current password',
              type: 'password',
              autocomplete: 'current-password',
              maxLength: 1024,
              error: faults.current,
            },
            newPasswordField(faults.password),
          ],
          buttons: [{ label: 'Change password' }],
        })}
        <p class="after"><a href="${SIGN_IN_PATH}">Back to your account</a></p>`,
    });
  }

  private sendNoPassword(reply: FastifyReply): void {
    const { issuerName } = this.issuer;
    sendPage(reply, {
      title: 'You have no password here',
      body: html`<p>
          ${
            issuerName === undefined
              ? 'Your account has no password. An owner or admin of your organization can give you a link to set one.'
              : `You sign in with ${issuerName}. If you have a password there, change it there.`
          }
        </p>
        <p><a href="${SIGN_IN_PATH}">Back to your account</a></p>`,
    });
  }
}

function faultsOf(current: string, password: string, email: string): Faults | undefined {
  const fault =
    password === current && current !== ''
      ? 'The new password is the same as the current one. Choose another one.'
      : passwordFault(password, email);
  if (current === '') return { current: 'Enter your current password.', password: fault };
  return fault === undefined ? undefined : { password: fault };
}

function signInFirst(reply: FastifyReply): void {
  void reply.redirect(`${SIGN_IN_PATH}?return_to=${encodeURIComponent(PASSWORD_PATH)}`, 303);
}
