import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import { CsrfTokens } from '../browser-sessions/csrf-tokens.js';
import { DomainError } from '../../core/domain-error.js';
import { Ownership } from '../organizations/ownership.js';
import { fieldOf, queryOf, alert, form } from '../../platform/pages/form.js';
import { html } from '../../platform/pages/html.js';
import { GetPage, PostForm } from '../../platform/pages/page-route.js';
import { sendPage } from '../../platform/pages/send-page.js';
import { passwordFault } from '../users/password-rules.js';
import { UserService } from '../users/user.service.js';
import { emailFault, nameFault, nameField, newPasswordField } from './new-password.js';
import { SIGN_IN_PATH } from './sign-in.controller.js';
import { SignInService } from './sign-in.service.js';

interface Entered {
  readonly token: string;
  readonly email: string;
  readonly name: string;
  readonly faults: {
    readonly email?: string | undefined;
    readonly name?: string | undefined;
    readonly password?: string | undefined;
  };
  readonly conflict?: string | undefined;
}

/** The page of the link that a start prints: makes the first owner of an organization. */
@Controller()
export class SetupController {
  constructor(
    private readonly ownership: Ownership,
    private readonly users: UserService,
    private readonly signIns: SignInService,
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
  ) {}

  @GetPage('setup')
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.sendForm(request, reply, { token: queryOf(request, 'token'), email: '', name: '', faults: {} });
  }

  @PostForm('setup')
  async claim(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.csrf.requireValid(request);
    const token = fieldOf(request, 'token');
    await this.ownership.findSetup(token);
    const user = await this.sessions.userOf(request);
    if (user !== undefined) {
      await this.ownership.claimAs(token, user.id);
      return void reply.redirect(SIGN_IN_PATH, 303);
    }
    const [email, name, password] = [
      fieldOf(request, 'email').trim(),
      fieldOf(request, 'name').trim(),
      fieldOf(request, 'password'),
    ];
    const faults = { email: emailFault(email), name: nameFault(name), password: passwordFault(password, email) };
    if (Object.values(faults).some(Boolean)) return this.sendForm(request, reply, { token, email, name, faults });
    const passwordHash = await this.users.hashPassword(password);
    try {
      const id = await this.ownership.claim(token, { email, name, passwordHash });
      await this.signIns.start(request, reply, id);
      void reply.redirect(SIGN_IN_PATH, 303);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'conflict') throw error;
      await this.sendForm(request, reply, { token, email, name, faults: {}, conflict: error.message });
    }
  }

  private async sendForm(request: FastifyRequest, reply: FastifyReply, entered: Entered): Promise<void> {
    const { token, email, name, faults, conflict } = entered;
    const organization = await this.ownership.findSetup(token);
    const user = await this.sessions.userOf(request);
    const isFaulty = conflict !== undefined || Object.values(faults).some(Boolean);
    const fields = [
      nameField(name, faults.name),
      {
        name: 'email',
        label: 'E-mail address',
        type: 'email',
        autocomplete: 'username',
        value: email,
        error: faults.email,
        maxLength: 254,
      },
      newPasswordField(faults.password),
    ] as const;
    sendPage(reply, {
      title: `Set up the organization ${organization}`,
      status: isFaulty ? 422 : 200,
      body: html`<p>
          ${
            user === undefined
              ? 'Create the account of the owner, who can do everything in this organization.'
              : `You are signed in as ${user.email} and become an owner of this organization.`
          }
        </p>
        ${conflict !== undefined && alert(conflict)}
        ${form({
          action: '/setup',
          csrfToken: this.csrf.tokenFor(request, reply),
          hidden: { token },
          fields: user === undefined ? fields : [],
          buttons: [{ label: user === undefined ? 'Create account' : 'Become owner' }],
        })}`,
    });
  }
}
