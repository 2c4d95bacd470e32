import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { errors } from 'oidc-provider';
import type { Scope } from '../auth/protected-resource.js';
import { isUuid } from '../../core/ids.js';

/** A resource for which tokens are issued (RFC 8707), as its path names it. Whether it exists is not yet known. */
export interface RequestedResource {
  /** In lower case and without a trailing slash, such as `/api/acme/mcp/<connectionId>`. */
  readonly path: string;
  readonly scope: Scope;
  /** Absent for a legacy endpoint, whose connection decides. */
  readonly org?: string;
  /** The id of the connection or agent; absent for `self` and for the organization. */
  readonly connectionId?: string;
  readonly isGateway?: boolean;
}

/** A resource of an organization of which the person is a member. */
export interface OwnResource {
  readonly organizationId: string;
  readonly organizationName: string;
  /** The title of the connection or agent; absent for `self` and for the organization. */
  readonly title?: string;
}

const ORGANIZATION = /^\/api\/([a-z0-9-]{1,63})$/;
const SELF = /^\/api\/([a-z0-9-]{1,63})\/mcp\/self$/;
const GATEWAY = /^\/api\/([a-z0-9-]{1,63})\/mcp\/gateway\/([0-9a-f-]{36})$/;
const ENDPOINT = /^\/api\/([a-z0-9-]{1,63})\/mcp\/([0-9a-f-]{36})$/;
const LEGACY = /^\/mcp\/([0-9a-f-]{36})$/;

/**
 * Reads a resource indicator. Returns undefined for any address that is not a resource of this service.
 * @param indicator an absolute URI
 * @param origin of the service, as the request names it
 */
export function parseResource(indicator: string, origin: string): RequestedResource | undefined {
  const url = URL.parse(indicator);
  if (url === null || url.origin !== origin || url.search !== '' || url.hash !== '') return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  const path = url.pathname.toLowerCase().replace(/\/$/, '');
  return readPath(path);
}

function readPath(path: string): RequestedResource | undefined {
  const organization = ORGANIZATION.exec(path)?.[1];
  if (organization !== undefined) return { path, scope: 'api', org: organization };
  const self = SELF.exec(path)?.[1];
  if (self !== undefined) return { path, scope: 'mcp', org: self };
  for (const [form, isGateway] of [
    [GATEWAY, true],
    [ENDPOINT, false],
  ] as const) {
    const [, org, connectionId] = form.exec(path) ?? [];
    if (org !== undefined && connectionId !== undefined && isUuid(connectionId)) {
      return { path, scope: 'mcp', org, connectionId, isGateway };
    }
  }
  const legacy = LEGACY.exec(path)?.[1];
  return legacy !== undefined && isUuid(legacy) ? { path, scope: 'mcp', connectionId: legacy } : undefined;
}

/** Finds what a person can get a token for. */
@Injectable()
export class OauthResources {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * The resource if it exists in an organization of this person. Other answers do not tell which of the two is missing.
   */
  async findOwn(resource: RequestedResource, userId: string): Promise<OwnResource | undefined> {
    const { org, connectionId, isGateway = false } = resource;
    const [found]: { id: string; name: string; title: string | null }[] = await this.dataSource.query(
      `SELECT organizations.id, organizations.name, connections.title
         FROM members
         JOIN organizations ON organizations.id = members.organization_id
         LEFT JOIN connections ON connections.organization_id = organizations.id AND connections.id = $3
        WHERE members.user_id = $1 AND ($2::text IS NULL OR organizations.slug = $2)
          AND ($3::uuid IS NULL OR connections.id IS NOT NULL)
          AND (NOT $4 OR connections.connection_type = 'VIRTUAL')`,
      [userId, org ?? null, connectionId ?? null, isGateway],
    );
    if (found === undefined) return undefined;
    return {
      organizationId: found.id,
      organizationName: found.name,
      ...(found.title !== null && { title: found.title }),
    };
  }
}

/** Clients that act for themselves (`client_credentials`), each with the rights of an API key of its own. */
@Injectable()
export class MachineClients {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * Refuses a resource that is not one of the client's organization, or that its key does not open. The answer does not
   * tell what is missing.
   * @throws InvalidTarget
   */
  async requireOwn(resource: RequestedResource, clientId: string): Promise<void> {
    const { path, scope, org, connectionId, isGateway = false } = resource;
    const [found]: object[] = await this.dataSource.query(
      `SELECT FROM oauth_clients client
         JOIN api_keys key ON key.id = client.api_key_id
         JOIN organizations ON organizations.id = client.organization_id
         LEFT JOIN connections ON connections.organization_id = organizations.id AND connections.id = $4
        WHERE client.client_id = $1 AND (key.expires_at IS NULL OR key.expires_at > now())
          AND (key.resource IS NULL OR key.resource = $2)
          AND (key.scope IS NULL OR $6 = ANY (string_to_array(key.scope, ' ')))
          AND ($3::text IS NULL OR organizations.slug = $3)
          AND ($4::uuid IS NULL OR connections.id IS NOT NULL)
          AND (NOT $5 OR connections.connection_type = 'VIRTUAL')`,
      [clientId, path, org ?? null, connectionId ?? null, isGateway, scope],
    );
    if (found === undefined) throw new errors.InvalidTarget('the client opens no resource with this indicator');
  }
}
