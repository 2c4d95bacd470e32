import { Injectable } from '@nestjs/common';
import { DomainError, faultAt, refuseFaults } from '../core/domain-error.js';
import { changedRateLimit, type ConnectionRateLimit } from '../core/limits.js';
import { allows, ANY } from '../core/permissions.js';
import type { Principal } from '../core/principal.js';
import { requirePermission } from '../core/require-permission.js';
import { AddressPolicy, AddressRefusedError } from '../platform/net/address-policy.js';
import { headerFaults } from '../platform/net/forbidden-headers.js';
import { AuthEditor } from './auth-editor.js';
import { refuseCredentialsForNewOrigin, nothingStored, unmasked } from './kept-secrets.js';
import { type ConnectionType, DEFAULT_TIMEOUT_MS, PIN_RULES } from './connection.js';
import { type ConnectionCreateData, type ConnectionUpdateData, MASK } from './connection.dto.js';
import type { ConnectionEntity } from './connection.entity.js';
import type { ConnectionColumns } from './connection.repository.js';
import { ConnectionSecrets } from './connection-secrets.js';
import { StdioEditor } from './stdio-editor.js';
import { UpstreamKinds } from './upstream-kind.js';

/** The permission to approve definitions of tools. */
const APPROVAL = 'CONNECTION_TOOLS_APPROVE';

const ABOUT = ['connection_type', 'title', 'description', 'status'];
const TARGET = [...ABOUT, 'timeout', 'public_tools', 'rate_limit', 'shared_state', 'pin'];

const WITH_ADDRESS = [...TARGET, 'connection_url', 'connection_token', 'connection_headers'];

/**
 * The settable properties of each built-in type. Types of other modules have an address. An agent has all other
 * properties of a VIRTUAL connection.
 */
const PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  HTTP: [...WITH_ADDRESS, 'auth'],
  STDIO: [...TARGET, 'stdio'],
  VIRTUAL: ABOUT,
};

const HINTS: Readonly<Record<string, string>> = {
  HTTP: 'An HTTP connection does not have this property.',
  STDIO: 'A STDIO connection does not have this property; configure its program in stdio.',
  VIRTUAL: 'A VIRTUAL connection does not have this property; edit the agent with COLLECTION_VIRTUAL_MCP_UPDATE.',
};

type Headers = Readonly<Record<string, string>>;

/** Compares names of HTTP headers without case. */
const HEADER_NAMES = { fold: (name: string) => name.toLowerCase(), pathOf: headerPath };

/** Turns a caller's input into columns: checks the address, the headers and the program, and seals the secrets. */
@Injectable()
export class ConnectionEditor {
  constructor(
    private readonly secrets: ConnectionSecrets,
    private readonly policy: AddressPolicy,
    private readonly stdio: StdioEditor,
    private readonly auth: AuthEditor,
    private readonly kinds: UpstreamKinds,
  ) {}

  /**
   * All columns of a new connection except its identity and title.
   * @throws DomainError `invalid_request`, `address_refused` or `permission_denied`
   */
  newColumns(id: string, data: ConnectionCreateData, caller: Principal): ConnectionColumns {
    refuseForeignProperties(data.connection_type, data);
    return {
      description: data.description ?? null,
      ...(data.connection_type === 'STDIO'
        ? this.stdio.columns(id, undefined, required(data, 'stdio'), caller)
        : this.newAddressColumns(id, data)),
      timeout: data.timeout ?? DEFAULT_TIMEOUT_MS,
      status: data.status ?? 'active',
      publicTools: data.public_tools ?? 'honor',
      rateLimit: changedRateLimit<ConnectionRateLimit>(null, data.rate_limit ?? null),
      sharedState: data.shared_state ?? false,
      pin: data.pin ?? 'off',
    };
  }

  /**
   * Changing the target creates a new revision and clears a fault found with the old one.
   * @throws DomainError `invalid_request`, `address_refused`, `permission_denied` or `permission_widening`
   */
  changedColumns(stored: ConnectionEntity, data: ConnectionUpdateData, caller: Principal): ConnectionColumns {
    refuseForeignProperties(stored.connectionType, data);
    refuseCredentialsForNewOrigin(stored, data);
    refuseOpening(stored, data, caller);
    const target = this.targetColumns(stored, data, caller);
    const isRetargeted = Object.values(target).some((value) => value !== undefined);
    const status = data.status ?? (isRetargeted && stored.status === 'error' ? 'active' : undefined);
    return {
      title: data.title,
      description: data.description,
      publicTools: data.public_tools,
      rateLimit: data.rate_limit === undefined ? undefined : changedRateLimit(stored.rateLimit, data.rate_limit),
      sharedState: data.shared_state,
      ...pinColumns(stored, data, caller),
      ...target,
      revision: isRetargeted ? stored.revision + 1 : undefined,
      status,
      statusReason: status === undefined ? undefined : null,
    };
  }

  private newAddressColumns(id: string, data: ConnectionCreateData): ConnectionColumns {
    const url = this.needsUrl(data.connection_type) ? required(data, 'connection_url') : data.connection_url;
    return {
      connectionUrl: url === undefined ? null : this.checkedUrl(url),
      connectionToken: this.sealedToken(id, null, data.connection_token ?? null),
      ...this.headerColumns(id, null, data.connection_headers?.headers ?? null),
      ...this.auth.columns(id, undefined, data),
    };
  }

  private needsUrl(type: ConnectionType): boolean {
    if (type === 'HTTP') return true;
    const kind = this.kinds.findByType(type);
    if (kind !== undefined) return kind.needsUrl === true;
    const message = `Must be a connection type of this service: ${this.kinds.creatableTypes().join(', ')}.`;
    throw faultAt('data.connection_type', 'is_in', message);
  }

  private targetColumns(stored: ConnectionEntity, data: ConnectionUpdateData, caller: Principal): ConnectionColumns {
    const { connection_url: url, connection_token: token, connection_headers: headers, stdio, timeout } = data;
    return {
      connectionUrl: url === undefined ? undefined : this.checkedUrl(url),
      connectionToken: token === undefined ? undefined : this.sealedToken(stored.id, stored.connectionToken, token),
      ...(headers === undefined
        ? {}
        : this.headerColumns(stored.id, stored.connectionHeaders, headers?.headers ?? null)),
      ...this.auth.columns(stored.id, stored, data),
      ...(stdio === undefined ? {} : this.stdio.columns(stored.id, stored, stdio, caller)),
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

  /** An empty map is stored as null. */
  private headerColumns(id: string, stored: string | null, headers: Headers | null): ConnectionColumns {
    if (headers === null || Object.keys(headers).length === 0) {
      return { connectionHeaders: null, connectionHeaderNames: [] };
    }
    const complete = unmasked(headers, () => this.secrets.openHeaders(id, stored), HEADER_NAMES);
    refuseFaulty(complete);
    return {
      connectionHeaders: this.secrets.sealHeaders(id, complete),
      connectionHeaderNames: Object.keys(complete),
    };
  }
}

/**
 * Honoring an upstream's public mark lets everyone call the marked tools, including the caller.
 * @throws DomainError `permission_widening` unless the caller can call all tools of the connection
 */
function refuseOpening(stored: ConnectionEntity, data: ConnectionUpdateData, { permissions }: Principal): void {
  if (data.public_tools !== 'honor' || stored.publicTools === 'honor' || allows(permissions, stored.id, ANY)) return;
  const message = 'Making tools public requires a grant on all tools of the connection.';
  const fault = { path: 'data.public_tools', code: 'permission_widening', message };
  throw new DomainError('permission_widening', message, [fault]);
}

/**
 * Switching the pin on begins with no approved definition: those of the next complete list are approved. A weaker pin
 * has the effect of approving everything.
 * @throws DomainError `permission_denied`
 */
function pinColumns(stored: ConnectionEntity, { pin }: ConnectionUpdateData, caller: Principal): ConnectionColumns {
  if (pin === undefined || pin === stored.pin) return {};
  if (PIN_RULES.indexOf(pin) < PIN_RULES.indexOf(stored.pin))
    requirePermission(caller, APPROVAL, `A weaker pin needs the permission ${APPROVAL}.`);
  return { pin, pinEpoch: stored.pinEpoch + 1, ...(stored.pin === 'off' && { pinnedAt: null }) };
}

function required<Name extends 'connection_url' | 'stdio'>(
  data: ConnectionCreateData,
  name: Name,
): NonNullable<ConnectionCreateData[Name]> {
  const value = data[name];
  if (value != null) return value;
  throw faultAt(`data.${name}`, 'required', `A connection of type ${data.connection_type} requires this property.`);
}

function refuseFaulty(headers: Headers): void {
  const code = 'header_refused';
  refuseFaults(headerFaults(headers).map(({ name, message }) => ({ path: headerPath(name), code, message })));
}

/** The path includes only plain names: other text could contain dots, or be a secret pasted into the wrong place. */
function headerPath(name: string | null): string {
  const parent = 'data.connection_headers.headers';
  return name !== null && /^[\w-]{1,128}$/.test(name) ? `${parent}.${name}` : parent;
}

/** @throws DomainError `invalid_request` for properties that connections of this type do not have */
function refuseForeignProperties(type: ConnectionType, data: ConnectionCreateData | ConnectionUpdateData): void {
  const properties = PROPERTIES[type] ?? WITH_ADDRESS;
  const message = HINTS[type] ?? `A connection of type ${type} does not have this property.`;
  const faults = Object.entries(data)
    .filter(([name, value]) => value !== undefined && !properties.includes(name))
    .map(([name]) => ({ path: `data.${name}`, code: `not_of_${type.toLowerCase()}`, message }));
  refuseFaults(faults);
}
