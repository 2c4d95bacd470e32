import { Injectable } from '@nestjs/common';
import { errors, type Provider, type TokenEndpointGrantContext } from 'oidc-provider';
import { DomainError } from '../../core/domain-error.js';
import { type IdJag, IdJagVerifier } from '../trusted-issuers/id-jag.verifier.js';
import { IssuerIdentities } from '../users/issuer-identities.js';
import { UserService } from '../users/user.service.js';
import { Consents } from './consents.js';
import { OauthClients } from './oauth-clients.js';
import { type OwnResource, OauthResources, parseResource, type RequestedResource } from './oauth-resources.js';
import { JWT_BEARER_GRANT } from './oauth.dto.js';
import { OauthRecordsRepository } from './records/oauth-records.repository.js';

type ExchangeContext = TokenEndpointGrantContext<{ assertion?: unknown }>;

interface VouchedPerson {
  readonly userId: string;
  /** False for the first assertion about this person: the address has found the account. */
  readonly isLinked: boolean;
}

/**
 * Enterprise-managed authorization of MCP: exchanges the assertion of a company's identity provider (ID-JAG) for an
 * access token of the person. The provider decides in place of the consent page. There is no refresh token: the client
 * asks the provider again.
 */
@Injectable()
export class EnterpriseGrants {
  constructor(
    private readonly assertions: IdJagVerifier,
    private readonly identities: IssuerIdentities,
    private readonly users: UserService,
    private readonly clients: OauthClients,
    private readonly resources: OauthResources,
    private readonly consents: Consents,
    private readonly records: OauthRecordsRepository,
  ) {}

  /** Whether an identity provider may vouch for people. */
  get isOffered(): boolean {
    return this.assertions.isOffered;
  }

  /** Adds the grant to an authorization server. */
  registerOn(provider: Provider): void {
    if (!this.isOffered) return;
    const parameters = ['assertion', 'resource', 'scope'];
    provider.registerGrantType(JWT_BEARER_GRANT, (ctx: ExchangeContext) => this.exchange(ctx), parameters);
  }

  private async exchange(ctx: ExchangeContext): Promise<void> {
    const { client, provider } = ctx.oidc;
    const { AccessToken, Grant } = provider;
    if (client.clientAuthMethod === 'none')
      throw new errors.UnauthorizedClient('the client must have a secret or keys of its own');
    const assertion = await this.verifiedAssertion(ctx);
    const resource = resourceOf(assertion, ctx);
    const scope = scopeOf(assertion, resource, ctx);
    const person = await this.findPerson(assertion);
    const { organizationId } = await this.requireOwn(resource, person, client.clientId);
    await this.use(assertion, person);
    const { userId } = person;
    const indicator = assertion.resource;
    const grantId = await this.consents.grant(Grant, { userId, organizationId, client, resource, indicator, scope });
    const token = new AccessToken({
      accountId: userId,
      client,
      grantId,
      gty: 'jwt_bearer',
      aud: indicator,
      scope,
    });
    const value = await token.save();
    ctx.body = { access_token: value, expires_in: token.expiration, scope, token_type: token.tokenType };
  }

  /** @throws InvalidRequest, InvalidGrant, DomainError `service_unavailable` */
  private async verifiedAssertion({ oidc }: ExchangeContext): Promise<IdJag> {
    const { client, params, provider } = oidc;
    const { assertion } = params;
    if (typeof assertion !== 'string') throw new errors.InvalidRequest('the parameter "assertion" is required');
    const verified = await this.assertions.verify(assertion, provider.issuer).catch(refuse);
    if (verified.clientId !== client.clientId) throw new errors.InvalidGrant('the assertion is for another client');
    return verified;
  }

  /** @throws InvalidGrant for a person without an account */
  private async findPerson(assertion: IdJag): Promise<VouchedPerson> {
    const known = await this.identities.findUser(assertion);
    if (known !== null) return { userId: known.id, isLinked: true };
    const { email } = assertion;
    const found = email === undefined ? null : await this.users.findByEmail(email);
    if (found === null) throw new errors.InvalidGrant('the person has no account');
    return { userId: found.id, isLinked: false };
  }

  /**
   * A client that was set up by hand belongs to one organization.
   * @throws InvalidGrant for a person who is no member, or a client of another organization
   */
  private async requireOwn(
    resource: RequestedResource,
    { userId }: VouchedPerson,
    clientId: string,
  ): Promise<OwnResource> {
    const own = await this.resources.findOwn(resource, userId);
    if (own === undefined) throw new errors.InvalidGrant('the person has no such resource');
    const owner = await this.clients.findOrganization(clientId);
    if (owner !== undefined && owner !== own.organizationId)
      throw new errors.InvalidGrant('the client belongs to another organization');
    return own;
  }

  /**
   * Uses the assertion up, and links the person for whom the issuer vouches for the first time.
   * @throws InvalidGrant
   */
  private async use({ issuer, subject, id, remembersFor }: IdJag, person: VouchedPerson): Promise<void> {
    const work = this.users.transaction(async (manager) => {
      if (!(await this.records.useOnce(`${issuer}\n${id}`, remembersFor, manager)))
        throw new errors.InvalidGrant('the assertion was used before');
      if (person.isLinked) return;
      const user = await this.users.findById(person.userId, manager);
      if (user === null) throw new errors.InvalidGrant('the person has no account');
      await this.identities.link(manager, user, { issuer, subject });
    });
    await work.catch(refuse);
  }
}

/** The answer does not tell what is wrong with an assertion, unless the issuer's keys cannot be read. */
function refuse(error: unknown): never {
  if (error instanceof DomainError && error.code !== 'service_unavailable')
    throw new errors.InvalidGrant({ cause: error });
  throw error;
}

/** @throws InvalidTarget */
function resourceOf({ resource: indicator }: IdJag, { oidc }: ExchangeContext): RequestedResource {
  const { params, provider } = oidc;
  const resource = parseResource(indicator, provider.issuer);
  if (resource === undefined) throw new errors.InvalidTarget('the assertion is for no resource of this service');
  const requested = params.resource;
  if (requested === undefined || parseResource(String(requested), provider.issuer)?.path === resource.path)
    return resource;
  throw new errors.InvalidTarget('the assertion is for another resource');
}

/** The scope of the resource, if neither the issuer nor the client asks for others only. @throws InvalidScope */
function scopeOf({ scopes }: IdJag, { scope }: RequestedResource, { oidc }: ExchangeContext): string {
  const requested = oidc.requestParamScopes;
  const isRequested = requested.size === 0 || requested.has(scope);
  if (isRequested && (scopes === undefined || scopes.includes(scope))) return scope;
  throw new errors.InvalidScope(`the resource has the scope "${scope}" only`, [...requested].join(' '));
}
