import { Injectable } from '@nestjs/common';
import { DomainError, type FieldError } from '../common/domain-error.js';
import { AddressPolicy } from '../net/address-policy.js';
import { AddressRefusedError } from '../net/address-refused-error.js';
import { headerFaults } from '../net/forbidden-headers.js';
import { refuseCarriedCredentials } from './carried-credentials.js';
import { DEFAULT_TIMEOUT_MS } from './connection.js';
import { type ConnectionCreateData, type ConnectionUpdateData, MASK } from './connection.dto.js';
import type { ConnectionEntity } from './connection.entity.js';
import type { ConnectionColumns } from './connection.repository.js';
import { ConnectionSecrets } from './connection-secrets.js';

type Headers = Readonly<Record<string, string>>;

/** What may be changed of an agent's connection; the rest of it is the agent's. */
const VIRTUAL_PROPERTIES: readonly string[] = ['title', 'description', 'status'];

/** Turns what a caller sends into columns: checks the address and the headers, and seals the secrets. */
@Injectable()
export class ConnectionEditor {
  constructor(
    private readonly secrets: ConnectionSecrets,
    private readonly policy: AddressPolicy,
  ) {}

  /** All columns of a new connection but its identity and title. @throws DomainError `invalid_request` or `address_refused` */
  newColumns(id: string, data: ConnectionCreateData): ConnectionColumns {
    return {
      description: data.description ?? null,
      connectionUrl: this.checkedUrl(data.connection_url),
      connectionToken: this.sealedToken(id, null, data.connection_token ?? null),
      ...this.headerColumns(id, null, data.connection_headers?.headers ?? null),
      timeout: data.timeout ?? DEFAULT_TIMEOUT_MS,
      status: data.status ?? 'active',
      publicTools: data.public_tools ?? 'honor',
    };
  }

  /**
   * A changed target is a new revision, and a fault that was found with the old one is forgotten.
   * @throws DomainError `invalid_request` or `address_refused`
   */
  changedColumns(stored: ConnectionEntity, data: ConnectionUpdateData): ConnectionColumns {
    if (stored.connectionType === 'VIRTUAL') refuseTargetOfAgent(data);
    refuseCarriedCredentials(stored, data);
    const target = this.targetColumns(stored, data);
    const isRetargeted = Object.values(target).some((value) => value !== undefined);
    const status = data.status ?? (isRetargeted && stored.status === 'error' ? 'active' : undefined);
    return {
      title: data.title,
      description: data.description,
      publicTools: data.public_tools,
      ...target,
      revision: isRetargeted ? stored.revision + 1 : undefined,
      status,
      statusReason: status === undefined ? undefined : null,
    };
  }

  private targetColumns(stored: ConnectionEntity, data: ConnectionUpdateData): ConnectionColumns {
    const { connection_url: url, connection_token: token, connection_headers: headers, timeout } = data;
    return {
      connectionUrl: url === undefined ? undefined : this.checkedUrl(url),
      connectionToken: token === undefined ? undefined : this.sealedToken(stored.id, stored.connectionToken, token),
      ...(headers === undefined
        ? {}
        : this.headerColumns(stored.id, stored.connectionHeaders, headers?.headers ?? null)),
      timeout,
    };
  }

  private checkedUrl(url: string): string {
    try {
      this.policy.checkUrl(url);
      return url;
    } catch (error) {
      if (!(error instanceof AddressRefusedError)) throw error;
      const fault = { path: 'data.connection_url', code: 'address_refused', message: error.message };
      throw new DomainError('address_refused', error.message, [fault], { cause: error });
    }
  }

  private sealedToken(id: string, stored: string | null, token: string | null): string | null {
    if (token === null) return null;
    if (token !== MASK) return this.secrets.sealToken(id, token);
    if (stored === null) throw nothingStored('data.connection_token');
    return stored;
  }

  /** An empty map is stored as none. */
  private headerColumns(id: string, stored: string | null, headers: Headers | null): ConnectionColumns {
    if (headers === null || Object.keys(headers).length === 0) {
      return { connectionHeaders: null, connectionHeaderNames: [] };
    }
    const complete = Object.values(headers).includes(MASK)
      ? unmasked(headers, this.secrets.openHeaders(id, stored))
      : headers;
    refuseFaulty(complete);
    return {
      connectionHeaders: this.secrets.sealHeaders(id, complete),
      connectionHeaderNames: Object.keys(complete),
    };
  }
}

/** Puts the stored value of the same name wherever `***` stands for it. */
function unmasked(headers: Headers, stored: Headers): Headers {
  const known = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]));
  const entries = Object.entries(headers).map(([name, value]) => {
    if (value !== MASK) return [name, value] as const;
    const kept = known.get(name.toLowerCase());
    if (kept === undefined) throw nothingStored(headerPath(name));
    return [name, kept] as const;
  });
  return Object.fromEntries(entries);
}

function refuseFaulty(headers: Headers): void {
  const faults: FieldError[] = headerFaults(headers).map(({ name, message }) => ({
    path: headerPath(name),
    code: 'header_refused',
    message,
  }));
  const [first] = faults;
  if (first !== undefined) throw new DomainError('invalid_request', `${first.path}: ${first.message}`, faults);
}

function refuseTargetOfAgent(data: ConnectionUpdateData): void {
  const faults = Object.entries(data)
    .filter(([name, value]) => value !== undefined && !VIRTUAL_PROPERTIES.includes(name))
    .map(([name]) => ({
      path: `data.${name}`,
      code: 'not_of_virtual',
      message: 'A VIRTUAL connection has no such property; the agent is edited with COLLECTION_VIRTUAL_MCP_UPDATE.',
    }));
  const [first] = faults;
  if (first !== undefined) throw new DomainError('invalid_request', `${first.path}: ${first.message}`, faults);
}

function nothingStored(path: string): DomainError {
  const message = `${MASK} stands for a stored value, and none is stored here.`;
  return new DomainError('invalid_request', `${path}: ${message}`, [{ path, code: 'nothing_stored', message }]);
}

/** Only a plain name is part of the path: another one could hold dots, or be a value that was pasted into its place. */
function headerPath(name: string | null): string {
  const parent = 'data.connection_headers.headers';
  return name !== null && /^[\w-]{1,128}$/.test(name) ? `${parent}.${name}` : parent;
}
