import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CsrfTokens } from '../browser-sessions/csrf-tokens.js';
import { type OpenReset, PasswordResets } from '../organizations/password-resets.js';
import { fieldOf, queryOf, form } from '../../platform/pages/form.js';
import { html } from '../../platform/pages/html.js';
import { GetPage, PostForm } from '../../platform/pages/page-route.js';
import { sendPage } from '../../platform/pages/send-page.js';
import { passwordFault } from '../users/password-rules.js';
import { UserService } from '../users/user.service.js';
import { newPasswordField, ownAddressField } from './new-password.js';
import { SIGN_IN_PATH } from './sign-in.controller.js';
import { SignInService } from './sign-in.service.js';

const FOR_NEW_OWNER =
  ' It also deletes the API keys that were made with this account, its links for others and its accounts ' +
  'elsewhere, and disables its schedules.';

/** The page of a link that sets a new password. Ends all sessions of the person, and signs this browser in. */
@Controller()
export class ResetController {
  constructor(
    private readonly resets: PasswordResets,
    private readonly users: UserService,
    private readonly signIns: SignInService,
    private readonly csrf: CsrfTokens,
  ) {}

  @GetPage('reset')
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const token = queryOf(request, 'token');
    this.sendForm(request, reply, { token, ...(await this.resets.find(token)) });
  }

  @PostForm('reset')
  async reset(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.csrf.requireValid(request);
    const [token, password] = [fieldOf(request, 'token'), fieldOf(request, 'password')];
    const reset = await this.resets.find(token);
    const fault = passwordFault(password, reset.user.email ?? '');
    if (fault !== undefined) return this.sendForm(request, reply, { token, ...reset, fault });
    const id = await this.resets.setPassword(token, await this.users.hashPasswordOf(reset.user, password));
    await this.signIns.start(request, reply, id);
    void reply.redirect(SIGN_IN_PATH, 303);
  }

  private sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { token, user, hasNewOwner, fault }: OpenReset & { token: string; fault?: string },
  ): void {
    sendPage(reply, {
      title: 'Set a new password',
      status: fault === undefined ? 200 : 422,
      body: html`<p>
          The new password ends all sessions and revokes the access of all applications.${hasNewOwner && FOR_NEW_OWNER}
        </p>
        ${form({
          action: '/reset',
          csrfToken: this.csrf.tokenFor(request, reply),
          hidden: { token },
          fields: [ownAddressField(user.email ?? ''), newPasswordField(fault)],
          buttons: [{ label: 'Set password' }],
        })}`,
    });
  }
}
