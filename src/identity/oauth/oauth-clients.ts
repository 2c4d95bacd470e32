import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { AdapterPayload } from 'oidc-provider';
import { type EntityManager, Repository } from 'typeorm';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError, type FieldError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { changeOrganization, requireRoom } from '../../platform/database/organization-locks.js';
import { isLoopback } from '../../core/loopback.js';
import { IdJagVerifier } from '../trusted-issuers/id-jag.verifier.js';
import { ApiKeyService } from '../api-keys/api-key.service.js';
import { faultOfKey, publicPartOf } from './client-keys.js';
import {
  JWT_BEARER_GRANT,
  type OauthClientCreated,
  type OauthClientCreateInput,
  type OauthClientItem,
} from './oauth.dto.js';
import { OauthClientEntity } from './records/oauth-client.entity.js';
import { OauthRecordsRepository } from './records/oauth-records.repository.js';

const MAX_CLIENTS = { max: 1000, what: 'OAuth clients' };
/** Of an API key. */
const MAX_KEY_NAME = 64;
/** By which logs recognize a client secret (`credential-forms.ts`). */
const SECRET_PREFIX = 'sbs_';
const SECRET_BYTES = 32;
const CONSENT_GRANTS = ['authorization_code', 'refresh_token'];
/** As the authorization server names them (RFC 7591 §2). A client with a secret can also send it in the body. */
const AUTH_METHODS = { none: 'none', secret: 'client_secret_basic', jwks: 'private_key_jwt' } as const;
/** Schemes that a browser would execute or open itself. */
const FORBIDDEN_SCHEMES: ReadonlySet<string> = new Set([
  'javascript:',
  'data:',
  'file:',
  'blob:',
  'vbscript:',
  'about:',
]);

type NewClient = Omit<OauthClientEntity, 'createdAt'>;

/**
 * OAuth clients that an organization sets up by hand: programs that can neither register nor publish a document, and
 * those that have a secret or keys of their own.
 */
@Injectable()
export class OauthClients {
  constructor(
    @InjectRepository(OauthClientEntity) private readonly clients: Repository<OauthClientEntity>,
    private readonly records: OauthRecordsRepository,
    private readonly apiKeys: ApiKeyService,
    private readonly assertions: IdJagVerifier,
    private readonly events: AuditEvents,
  ) {}

  /**
   * @throws DomainError `invalid_request` for members that do not fit together, a redirect that no client can have or a
   *   key that cannot be used; `permission_widening` for more than the caller holds; `limit_reached`
   */
  async create(input: OauthClientCreateInput, caller: Principal): Promise<OauthClientCreated> {
    const faults = faultsOf(input, this.assertions);
    if (faults.length > 0) throw new DomainError('invalid_request', 'The client cannot be set up like this.', faults);
    const client = newClient(input, caller.organization.id);
    const secret = client.auth === 'secret' ? newSecret() : undefined;
    const store = (manager: EntityManager, apiKeyId: string | null): Promise<void> =>
      this.store(manager, { ...client, apiKeyId }, metadataOf(client, input, secret), caller);
    const { permissions } = input;
    await (permissions === undefined
      ? changeOrganization(this.clients.manager, caller.organization.id, (manager) => store(manager, null))
      : this.apiKeys.createFor({ name: client.name.slice(0, MAX_KEY_NAME), permissions }, caller, store));
    const item = toItem(await this.clients.findOneByOrFail({ id: client.id }));
    return { item, ...(secret !== undefined && { client_secret: secret }) };
  }

  private async store(
    manager: EntityManager,
    client: NewClient,
    metadata: AdapterPayload,
    caller: Principal,
  ): Promise<void> {
    const { clientId, organizationId } = client;
    await requireRoom(manager, OauthClientEntity, organizationId, MAX_CLIENTS);
    await manager.insert(OauthClientEntity, client);
    await this.records.upsert('Client', clientId, metadata, { clientId }, manager);
    await this.record('client.created', client, caller, manager);
  }

  async list(caller: Principal): Promise<OauthClientItem[]> {
    const { id: organizationId } = caller.organization;
    return (await this.clients.find({ where: { organizationId }, order: { createdAt: 'ASC', id: 'ASC' } })).map(toItem);
  }

  /** The organization that has set the client up; undefined for a client that has registered itself. */
  async findOrganization(clientId: string): Promise<string | undefined> {
    return (await this.clients.findOneBy({ clientId }))?.organizationId;
  }

  /**
   * Deletes the client, and with it every grant to it and the key with which it acts.
   * @throws DomainError `not_found`, `permission_widening` for a client that may do more than the caller
   */
  async delete(id: string, caller: Principal): Promise<void> {
    const client = await this.clients.findOneBy({ id, organizationId: caller.organization.id });
    if (client === null) throw new DomainError('not_found', 'The organization has no OAuth client with this id.');
    if (client.apiKeyId !== null) await this.apiKeys.delete({ id: client.apiKeyId }, caller);
    await this.clients.delete({ id });
    await this.records.deleteClient(client.clientId);
    await this.record('client.deleted', client, caller);
  }

  private record(
    event: 'client.created' | 'client.deleted',
    { id, name }: Pick<OauthClientEntity, 'id' | 'name'>,
    caller: Principal,
    manager?: EntityManager,
  ): Promise<void> {
    const target = { type: 'client', id, name } as const;
    return this.events.record(caller.organization.id, { event, actor: caller, target }, manager);
  }
}

function newSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

function newClient(input: OauthClientCreateInput, organizationId: string): Omit<NewClient, 'apiKeyId'> {
  const { name, redirect_uris: redirectUris = [], grant_types: grantTypes, auth = 'secret' } = input;
  const base = { id: newId(), organizationId, clientId: newId(), name, redirectUris };
  if (grantTypes === undefined) return { ...base, grantTypes: CONSENT_GRANTS, auth: 'none' };
  return { ...base, grantTypes, auth };
}

/** The client's metadata (RFC 7591 §2) for the authorization server. */
function metadataOf(
  { clientId, name, redirectUris, grantTypes, auth }: Omit<NewClient, 'apiKeyId'>,
  { jwks }: OauthClientCreateInput,
  secret: string | undefined,
): AdapterPayload {
  return {
    client_id: clientId,
    client_name: name,
    redirect_uris: [...redirectUris],
    grant_types: [...grantTypes],
    ...(redirectUris.length === 0 && { response_types: [] }),
    token_endpoint_auth_method: AUTH_METHODS[auth],
    ...(secret !== undefined && { client_secret: secret }),
    ...(jwks !== undefined && { jwks: { keys: jwks.keys.map(publicPartOf) } }),
  };
}

function faultsOf(
  { redirect_uris, grant_types, permissions, auth, jwks }: OauthClientCreateInput,
  { isOffered }: IdJagVerifier,
): FieldError[] {
  const isUnattended = grant_types !== undefined;
  const presentsAssertions = grant_types?.includes(JWT_BEARER_GRANT) ?? false;
  const actsForItself = grant_types?.includes('client_credentials') ?? false;
  return [
    ...faultUnless((redirect_uris === undefined) === isUnattended, 'redirect_uris', 'Send either this or grant_types.'),
    ...faultUnless(isOffered || !presentsAssertions, 'grant_types', 'No issuer in TRUSTED_ISSUERS has id_jag.'),
    // The deletion of its key leaves a client that acts for itself without an organization.
    ...faultUnless(!presentsAssertions || !actsForItself, 'grant_types', 'Make a client for each of the two grants.'),
    ...faultUnless((permissions !== undefined) === actsForItself, 'permissions', 'This belongs to client_credentials.'),
    ...faultUnless(auth === undefined || isUnattended, 'auth', 'This belongs to grant_types.'),
    ...faultUnless((jwks !== undefined) === (auth === 'jwks'), 'jwks', 'This belongs to auth: jwks.'),
    ...(redirect_uris ?? []).flatMap((uri, index) => faultOf(uri, `redirect_uris.${index}`)),
    ...(jwks?.keys ?? []).flatMap((key, index) => {
      const message = faultOfKey(key);
      return message === undefined ? [] : [{ path: `jwks.keys.${index}`, code: 'jwk', message }];
    }),
  ];
}

function faultUnless(isRight: boolean, path: string, message: string): FieldError[] {
  return isRight ? [] : [{ path, code: 'presence', message }];
}

function faultOf(uri: string, path: string): FieldError[] {
  const url = URL.parse(uri);
  const isUsable =
    url !== null &&
    !FORBIDDEN_SCHEMES.has(url.protocol) &&
    !uri.includes('#') &&
    (url.protocol !== 'http:' || isLoopback(url)) &&
    (url.protocol !== 'https:' || !isLoopback(url));
  const message = 'Use https, http on a loopback address, or a custom scheme, without a fragment.';
  return isUsable ? [] : [{ path, code: 'redirect_uri', message }];
}

function toItem({
  id,
  clientId,
  name,
  redirectUris,
  grantTypes,
  auth,
  apiKeyId,
  createdAt,
}: OauthClientEntity): OauthClientItem {
  return {
    id,
    client_id: clientId,
    name,
    redirect_uris: [...redirectUris],
    grant_types: [...grantTypes],
    auth,
    api_key_id: apiKeyId,
    created_at: createdAt.toISOString(),
  };
}
