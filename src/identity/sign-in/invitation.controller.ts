import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SignedInUser } from '../browser-sessions/browser-session.repository.js';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import { CsrfTokens } from '../browser-sessions/csrf-tokens.js';
import { inertName } from '../../core/inert-name.js';
import { Joining, type OpenInvitation } from '../organizations/joining.js';
import { fieldOf, queryOf, form } from '../../platform/pages/form.js';
import { html, type Html } from '../../platform/pages/html.js';
import { GetPage, PostForm } from '../../platform/pages/page-route.js';
import { sendPage } from '../../platform/pages/send-page.js';
import { passwordFault } from '../users/password-rules.js';
import { UserService } from '../users/user.service.js';
import { nameFault, nameField, newPasswordField, ownAddressField } from './new-password.js';
import { SIGN_IN_PATH } from './sign-in.controller.js';
import { SignInService } from './sign-in.service.js';

interface Faults {
  readonly name?: string | undefined;
  readonly password?: string | undefined;
}

/**
 * The page of an invitation. A new person creates an account; a person with an account accepts signed in with it. The
 * invitation sets the password only of an account that nobody has verified, if its link was mailed.
 */
@Controller()
export class InvitationController {
  constructor(
    private readonly joining: Joining,
    private readonly users: UserService,
    private readonly signIns: SignInService,
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
  ) {}

  @GetPage('invitation')
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const token = queryOf(request, 'token');
    const invitation = await this.joining.find(token);
    const user = await this.sessions.userOf(request);
    const { account } = invitation;
    if (account !== 'none' && user?.email.toLowerCase() === invitation.email.toLowerCase()) {
      this.sendPageOf(reply, invitation, this.acceptForm(request, reply, token));
    } else if (user !== undefined)
      this.sendPageOf(reply, invitation, this.otherAccount(request, reply, token, user, invitation));
    else if (account === 'existing') this.sendPageOf(reply, invitation, signInFirst(token, invitation));
    else this.sendPageOf(reply, invitation, this.accountForm(request, reply, token, invitation));
  }

  @PostForm('invitation')
  async accept(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.csrf.requireValid(request);
    const token = fieldOf(request, 'token');
    const invitation = await this.joining.find(token);
    const user = await this.sessions.userOf(request);
    if (user !== undefined) {
      await this.joining.acceptAs(token, user.id);
      return void reply.redirect(SIGN_IN_PATH, 303);
    }
    if (invitation.account === 'existing')
      return this.sendPageOf(reply, invitation, signInFirst(token, invitation), 403);
    const [name, password] = [fieldOf(request, 'name').trim(), fieldOf(request, 'password')];
    const faults = { name: nameFault(name), password: passwordFault(password, invitation.email) };
    if (Object.values(faults).some(Boolean)) {
      return this.sendPageOf(reply, invitation, this.accountForm(request, reply, token, invitation, name, faults), 422);
    }
    const passwordHash = await this.users.hashPassword(password, invitation.organizationId);
    const { id } = await this.joining.acceptAsNew(token, { name, passwordHash });
    await this.signIns.start(request, reply, id);
    void reply.redirect(SIGN_IN_PATH, 303);
  }

  private sendPageOf(reply: FastifyReply, { organizationName, role }: OpenInvitation, part: Html, status = 200): void {
    const body = html`<p>You are invited to join this organization with the role <strong>${role}</strong>.</p>
      ${part}`;
    sendPage(reply, { title: `Join ${inertName(organizationName)}`, status, body });
  }

  private accountForm(
    request: FastifyRequest,
    reply: FastifyReply,
    token: string,
    { email, account }: OpenInvitation,
    name?: string,
    faults: Faults = {},
  ): Html {
    const isTakenOver = account === 'unverified';
    return html`${isTakenOver && takeOver(token)}
    ${form({
      action: '/invitation',
      csrfToken: this.csrf.tokenFor(request, reply),
      hidden: { token },
      fields: [ownAddressField(email), nameField(name, faults.name), newPasswordField(faults.password)],
      buttons: [{ label: isTakenOver ? 'Set password and join' : 'Create account and join' }],
    })}`;
  }

  private acceptForm(request: FastifyRequest, reply: FastifyReply, token: string): Html {
    const csrfToken = this.csrf.tokenFor(request, reply);
    return form({ action: '/invitation', csrfToken, hidden: { token }, buttons: [{ label: 'Join' }] });
  }

  private otherAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    token: string,
    user: SignedInUser,
    { email }: OpenInvitation,
  ): Html {
    return html`<p>The invitation is for <strong>${email}</strong>. You are signed in as ${user.email}.</p>
      ${form({
        action: '/sign-out',
        csrfToken: this.csrf.tokenFor(request, reply),
        hidden: { return_to: pathOf(token) },
        buttons: [{ label: 'Sign out and continue' }],
      })}`;
  }
}

/** Above the form that sets the password of an account that nobody has verified. */
function takeOver(token: string): Html {
  return html`<p>
    There is an account with this address, but nobody has shown yet that the address is theirs. If you made the account,
    <a href="${signInPathOf(token)}">sign in</a>. Otherwise set a password: this ends the sessions of the account,
    revokes the access of its applications, deletes its API keys, its links for others and its accounts elsewhere, and
    disables its schedules.
  </p>`;
}

function signInFirst(token: string, { email }: OpenInvitation): Html {
  return html`<p>Sign in as <strong>${email}</strong> to accept.</p>
    <p class="buttons">
      <a class="button primary" href="${signInPathOf(token)}">Sign in</a>
    </p>`;
}

function signInPathOf(token: string): string {
  return `${SIGN_IN_PATH}?return_to=${encodeURIComponent(pathOf(token))}`;
}

function pathOf(token: string): string {
  return `/invitation?token=${encodeURIComponent(token)}`;
}
