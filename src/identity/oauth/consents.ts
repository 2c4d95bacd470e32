import { Injectable } from '@nestjs/common';
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';
import { personAsActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { OauthGrantsRepository } from './oauth-grants.repository.js';
import { OauthResources, parseResource, type RequestedResource } from './oauth-resources.js';
import { recordId } from './records/oauth-records.repository.js';
import { isRemembered } from './provider-configuration.js';

/** What a person allows a client. */
interface ConsentRequest {
  readonly userId: string;
  readonly organizationId: string;
  readonly client: { readonly clientId: string; readonly clientName?: string | undefined };
  readonly resource: RequestedResource;
  /** The resource as the client wrote it. */
  readonly indicator: string;
  /** The scopes of the request, separated by spaces. */
  readonly scope: string;
  /** Absent where an identity provider has decided in place of the person. */
  readonly redirectUri?: string;
}

const MAX_NAME_LENGTH = 256;

/**
 * Turns consents into grants. Every sign-in has a grant of its own, so that a stolen refresh token of one sign-in
 * revokes only that one.
 */
@Injectable()
export class Consents {
  constructor(
    private readonly grants: OauthGrantsRepository,
    private readonly resources: OauthResources,
    private readonly events: AuditEvents,
  ) {}

  /** Stores the grant for a consent and returns it. */
  async grant(GrantModel: typeof Grant, request: ConsentRequest): Promise<string> {
    const { userId, organizationId, client, resource, indicator, redirectUri } = request;
    const scopes = request.scope.split(' ');
    const granted = scopes.filter((scope) => scope === resource.scope);
    const grant = new GrantModel({ accountId: userId, clientId: client.clientId });
    grant.addOIDCScope(scopes.filter((scope) => scope !== resource.scope).join(' '));
    grant.addResourceScope(indicator, granted.join(' '));
    const value = await grant.save();
    const id = recordId('Grant', value);
    await this.grants.insert({
      id,
      organizationId,
      userId,
      clientId: client.clientId,
      clientName: (client.clientName ?? client.clientId).slice(0, MAX_NAME_LENGTH),
      resource: resource.path,
      scope: granted.join(' '),
      isRemembered: redirectUri !== undefined && isRemembered(redirectUri),
    });
    await this.events.record(organizationId, {
      event: 'grant.created',
      actor: { ...personAsActor(userId), clientId: client.clientId },
      target: { type: 'grant', id, name: client.clientName ?? client.clientId },
      changes: { resource: { to: resource.path } },
    });
    return value;
  }

  /** The grant of the consent that was just given; undefined if the person was not asked. */
  async findGiven({ oidc }: KoaContextWithOIDC): Promise<Grant | undefined> {
    const given = oidc.result?.consent?.grantId;
    return given === undefined ? undefined : oidc.provider.Grant.find(given);
  }

  /**
   * A new grant for what the signed-in person has allowed this client before; undefined if the person has to be asked.
   */
  async grantAgain({ oidc }: KoaContextWithOIDC, origin: string): Promise<Grant | undefined> {
    const GrantModel = oidc.provider.Grant;
    const { session, client, params } = oidc;
    const [indicator, redirectUri] = [String(params?.['resource'] ?? ''), String(params?.['redirect_uri'] ?? '')];
    const resource = parseResource(indicator, origin);
    const userId = session?.accountId;
    if (client === undefined || userId === undefined || resource === undefined || !isRemembered(redirectUri))
      return undefined;
    if (oidc.prompts.has('consent')) return undefined;
    const { clientId } = client;
    const earlier = await this.grants.findRemembered({ userId, clientId, resource: resource.path });
    if (earlier === null || !coversScope(earlier.scope, oidc.requestParamScopes, resource)) return undefined;
    const own = await this.resources.findOwn(resource, userId);
    if (own === undefined) return undefined;
    const { organizationId } = own;
    const scope = [...oidc.requestParamScopes].join(' ');
    return GrantModel.find(
      await this.grant(GrantModel, { userId, organizationId, client, resource, indicator, scope, redirectUri }),
    );
  }
}

function coversScope(granted: string, requested: ReadonlySet<string>, resource: RequestedResource): boolean {
  return !requested.has(resource.scope) || granted.split(' ').includes(resource.scope);
}
