import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { requireRoom } from '../../platform/database/require-room.js';
import { isLoopback } from '../../core/loopback.js';
import type { OauthClientCreateInput, OauthClientItem } from './oauth.dto.js';
import { OauthClientEntity } from './records/oauth-client.entity.js';
import { OauthRecordsRepository } from './records/oauth-records.repository.js';

const MAX_CLIENTS = { max: 1000, what: 'OAuth clients' };
/** Schemes that a browser would execute or open itself. */
const FORBIDDEN_SCHEMES: ReadonlySet<string> = new Set([
  'javascript:',
  'data:',
  'file:',
  'blob:',
  'vbscript:',
  'about:',
]);

/**
 * OAuth clients that an organization sets up by hand, for programs that can neither register nor publish a document.
 */
@Injectable()
export class OauthClients {
  constructor(
    @InjectRepository(OauthClientEntity) private readonly clients: Repository<OauthClientEntity>,
    private readonly records: OauthRecordsRepository,
    private readonly events: AuditEvents,
  ) {}

  /** @throws DomainError `invalid_request` for a redirect that no client can have, `limit_reached` */
  async create({ name, redirect_uris }: OauthClientCreateInput, caller: Principal): Promise<OauthClientItem> {
    const errors = redirect_uris.flatMap((uri, index) => faultOf(uri, `redirect_uris.${index}`));
    if (errors.length > 0) throw new DomainError('invalid_request', 'A redirect URI cannot be used.', errors);
    const organizationId = caller.organization.id;
    const client = { id: newId(), organizationId, clientId: newId(), name, redirectUris: redirect_uris };
    await this.clients.manager.transaction(async (manager) => {
      await requireRoom(manager, OauthClientEntity, organizationId, MAX_CLIENTS);
      await manager.insert(OauthClientEntity, client);
    });
    const metadata = {
      client_id: client.clientId,
      client_name: name,
      redirect_uris,
      token_endpoint_auth_method: 'none',
    } as const;
    await this.records.upsert('Client', client.clientId, metadata, { clientId: client.clientId });
    await this.record('client.created', client, caller);
    return toItem(await this.clients.findOneByOrFail({ id: client.id }));
  }

  async list(caller: Principal): Promise<OauthClientItem[]> {
    const { id: organizationId } = caller.organization;
    return (await this.clients.find({ where: { organizationId }, order: { createdAt: 'ASC', id: 'ASC' } })).map(toItem);
  }

  /** Deletes the client, and with it every grant to it. @throws DomainError `not_found` */
  async delete(id: string, caller: Principal): Promise<void> {
    const client = await this.clients.findOneBy({ id, organizationId: caller.organization.id });
    if (client === null) throw new DomainError('not_found', 'The organization has no OAuth client with this id.');
    await this.clients.delete({ id });
    await this.records.deleteClient(client.clientId);
    await this.record('client.deleted', client, caller);
  }

  private record(
    event: 'client.created' | 'client.deleted',
    { id, name }: Pick<OauthClientEntity, 'id' | 'name'>,
    caller: Principal,
  ): Promise<void> {
    return this.events.record(caller.organization.id, { event, actor: caller, target: { type: 'client', id, name } });
  }
}

function faultOf(uri: string, path: string): { path: string; code: string; message: string }[] {
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

function toItem({ id, clientId, name, redirectUris, createdAt }: OauthClientEntity): OauthClientItem {
  return {
    id,
    client_id: clientId,
    name,
    redirect_uris: [...redirectUris],
    created_at: createdAt.toISOString(),
  };
}
