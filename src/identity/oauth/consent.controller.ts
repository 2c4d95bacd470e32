import { Controller, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client, Interaction, Provider } from 'oidc-provider';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import type { SignedInUser } from '../browser-sessions/browser-session.repository.js';
import { CsrfTokens } from '../browser-sessions/csrf-tokens.js';
import { inertName } from '../../core/inert-name.js';
import { DomainError } from '../../core/domain-error.js';
import { AGAIN_FIELD, fieldOf, form } from '../../platform/pages/form.js';
import { html, type Html } from '../../platform/pages/html.js';
import { GetPage, PostForm } from '../../platform/pages/page-route.js';
import { sendPage } from '../../platform/pages/send-page.js';
import { AuthorizationServer } from './authorization-server.js';
import { Consents } from './consents.js';
import { OauthResources, type OwnResource, parseResource, type RequestedResource } from './oauth-resources.js';
import { OAUTH_PATHS } from './provider-configuration.js';
import { OauthRecordsRepository } from './records/oauth-records.repository.js';

/** An authorization request that waits for the person. */
interface PendingRequest {
  readonly provider: Provider;
  readonly interaction: Interaction;
  readonly user: SignedInUser;
}

/** What the person is asked to allow. */
interface Question {
  readonly client: Client;
  readonly resource: RequestedResource;
  readonly indicator: string;
  readonly own: OwnResource;
  readonly redirectUri: string;
}

/** The person's part of an authorization request: sign in, then allow or deny. */
@Controller()
export class ConsentController {
  constructor(
    private readonly server: AuthorizationServer,
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
    private readonly resources: OauthResources,
    private readonly consents: Consents,
    private readonly records: OauthRecordsRepository,
  ) {}

  @GetPage(`${OAUTH_PATHS.interaction}/:uid`)
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('uid') uid: string): Promise<void> {
    const pending = await this.pendingOf(request, reply, uid);
    if (pending === undefined) return;
    const { interaction, user } = pending;
    if (interaction.prompt.name === 'login') {
      // The client asks for it (`prompt=login`, `max_age`), or nobody was signed in when the request began.
      if (!(await this.hasSignedInFor(interaction, user))) return sendToSignIn(reply, interaction, { isAgain: true });
      await continueAs(user, interaction);
      return finish(pending, request, reply, { login: { accountId: user.id } });
    }
    const question = await this.questionOf(pending);
    if (question === undefined) return finish(pending, request, reply, REFUSED);
    this.sendConsentPage(request, reply, user, question);
  }

  @PostForm(`${OAUTH_PATHS.interaction}/:uid`)
  async decide(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('uid') uid: string): Promise<void> {
    this.csrf.requireValid(request);
    const pending = await this.pendingOf(request, reply, uid);
    if (pending === undefined) return;
    if (pending.interaction.prompt.name !== 'consent') throw expired();
    const question = await this.questionOf(pending);
    const isAllowed = fieldOf(request, 'decision') === 'allow';
    if (question === undefined || !isAllowed) return finish(pending, request, reply, REFUSED);
    const { interaction, provider, user } = pending;
    const grantId = await this.consents.grant(provider.Grant, {
      userId: user.id,
      organizationId: question.own.organizationId,
      client: question.client,
      resource: question.resource,
      indicator: question.indicator,
      scope: String(interaction.params['scope'] ?? ''),
      redirectUri: question.redirectUri,
    });
    await finish(pending, request, reply, { consent: { grantId } });
  }

  /** Sends the person to the sign-in, and returns undefined, if the request needs one. */
  private async pendingOf(
    request: FastifyRequest,
    reply: FastifyReply,
    uid: string,
  ): Promise<PendingRequest | undefined> {
    const provider = await this.server.providerOf(request);
    const interaction = await provider.interactionDetails(request.raw, reply.raw).catch(() => undefined);
    if (interaction?.uid !== uid) throw expired();
    const user = await this.sessions.userOf(request);
    const isAnother =
      user !== undefined && interaction.prompt.name === 'consent' && interaction.session?.accountId !== user.id;
    // Another person has signed in with this browser since the request began: that person starts it again.
    if (isAnother) throw expired();
    if (user !== undefined) return { provider, interaction, user };
    sendToSignIn(reply, interaction, { isAgain: false });
    return undefined;
  }

  /** True if the person has signed in with this browser since the request began. Both times come from the database. */
  private async hasSignedInFor({ uid }: Interaction, { signedInAt }: SignedInUser): Promise<boolean> {
    const begun = await this.records.createdAt('Interaction', uid);
    return begun !== undefined && signedInAt >= begun;
  }

  /** Undefined if the resource does not exist in an organization of this person. */
  private async questionOf({ provider, interaction, user }: PendingRequest): Promise<Question | undefined> {
    const { client_id: clientId, resource: requested, redirect_uri: redirectUri } = interaction.params;
    const indicator = String(Array.isArray(requested) ? requested[0] : requested);
    const [client, resource] = [
      await provider.Client.find(String(clientId)),
      parseResource(indicator, provider.issuer),
    ];
    if (client === undefined || resource === undefined) return undefined;
    const own = await this.resources.findOwn(resource, user.id);
    return own && { client, resource, indicator, own, redirectUri: String(redirectUri) };
  }

  private sendConsentPage(request: FastifyRequest, reply: FastifyReply, user: SignedInUser, question: Question): void {
    const { client, own, resource, redirectUri } = question;
    // The host of a metadata document is verified; the name of a client is what the client says.
    const publisher = URL.parse(client.clientId)?.host;
    const name = client.clientName ?? publisher ?? 'An application';
    const target = new URL(redirectUri);
    sendPage(reply, {
      title: `Allow ${name}?`,
      formActions: [target.origin === 'null' ? target.protocol : target.origin],
      body: html`<p><strong>${name}</strong> asks to act for you, ${user.name} (${user.email}).</p>
        <dl>
          <dt>Organization</dt>
          <dd>${inertName(own.organizationName)}</dd>
          <dt>Access to</dt>
          <dd>${describe(resource, own)}</dd>
          <dt>What it can do</dt>
          <dd>Whatever your role permits there, until you revoke it</dd>
          ${
            publisher !== undefined &&
            html`<dt>Published by</dt>
              <dd>${publisher}</dd>`
          }
          <dt>Returns to</dt>
          <dd>${destinationOf(target)}</dd>
        </dl>
        <p class="note">Allow this only if you have just started it yourself.</p>
        ${form({
          csrfToken: this.csrf.tokenFor(request, reply),
          buttons: [
            { label: 'Allow', name: 'decision', value: 'allow' },
            { label: 'Deny', name: 'decision', value: 'deny' },
          ],
        })}`,
    });
  }
}

const REFUSED = {
  error: 'access_denied',
  error_description: 'The person did not allow the access, or cannot allow it.',
};

/** Returns the browser to the authorization endpoint. */
async function finish(
  { provider }: PendingRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  result: Parameters<Provider['interactionFinished']>[2],
): Promise<void> {
  const returnTo = await provider.interactionResult(request.raw, reply.raw, result, { mergeWithLastSubmission: true });
  void reply.redirect(returnTo, 303);
}

/** The library would refuse a person who has signed in instead of the one who was signed in when the request began. */
async function continueAs({ id }: SignedInUser, interaction: Interaction): Promise<void> {
  if (interaction.session === undefined || interaction.session.accountId === id) return;
  delete interaction.session;
  await interaction.save(Math.max(1, interaction.exp - Math.floor(Date.now() / 1000)));
}

/** The person comes back to the request signed in. */
function sendToSignIn(reply: FastifyReply, { uid, params }: Interaction, { isAgain }: { isAgain: boolean }): void {
  // The sign-in page must allow the redirect to a client whose consent is remembered: Chromium applies `form-action` to
  // it.
  const client = new URLSearchParams({ redirect_uri: String(params['redirect_uri']) });
  const query = new URLSearchParams({
    return_to: `${OAUTH_PATHS.interaction}/${uid}?${client.toString()}`,
    ...(isAgain && { [AGAIN_FIELD]: '1' }),
  });
  void reply.redirect(`/sign-in?${query.toString()}`, 303);
}

function expired(): DomainError {
  return new DomainError('not_found', 'This sign-in has expired. Start it again in the application.');
}

function describe({ connectionId, isGateway, path }: RequestedResource, { title }: OwnResource): Html | string {
  if (connectionId !== undefined) return html`${isGateway === true ? 'Agent' : 'Connection'} <strong>${title}</strong>`;
  return path.endsWith('/mcp/self') ? 'The management tools of the organization' : 'The API of the organization';
}

function destinationOf({ protocol, hostname, host }: URL): string {
  if (protocol === 'https:') return host;
  if (protocol === 'http:') return `a program on this computer (${hostname})`;
  return `an application on this computer (${protocol.slice(0, -1)})`;
}
