import { applyDecorators, Injectable, SetMetadata, type OnModuleInit } from '@nestjs/common';
import type { Transport } from '@modelcontextprotocol/client';
import { DiscoveryService } from '@nestjs/core';
import {
  CONNECTION_TYPES,
  type ConnectionCredentials,
  CREATABLE_TYPES,
  type ConnectionType,
  OWN_TYPES,
} from './connection.js';
import { byName, type Contribution, contributedProviders } from '../core/contributions.js';

/** A connection's description of its upstream. Contains decrypted secrets: never log it. */
export interface UpstreamAccess extends ConnectionCredentials {
  readonly connectionId: string;
  readonly organizationId: string;
  /** `connection_url`; null if the connection stores none. */
  readonly url: string | null;
  /** The time limit for one tool call, in milliseconds. */
  readonly timeoutMs: number;
}

/** A kind of upstream: how its MCP server is reached. */
export interface UpstreamConnector {
  /** True if connections of this kind require a URL. */
  readonly needsUrl?: boolean;
  /**
   * Creates an MCP SDK transport that has not been started. Called once for each session: clients, threads, and callers
   * have their own, unless the connection says `shared_state`, and a new one follows when it has closed. The transport
   * is closed when the connection is edited or idle, or when its test ends.
   */
  openTransport(access: UpstreamAccess): Transport | Promise<Transport>;
}

const UPSTREAM_KIND = 'signalbox:upstream-kind';

/**
 * Registers a class that implements `UpstreamConnector` as a kind of upstream. Callers send its name as
 * `connection_type`. Names are unique in an application; a duplicate stops the start.
 * @param name up to 16 upper-case letters, digits and underscores
 */
export function UpstreamKind(name: string): ClassDecorator {
  // Schemas and validation rules are created once per process from the lists of names.
  if (!CONNECTION_TYPES.includes(name)) {
    CONNECTION_TYPES.push(name);
    CREATABLE_TYPES.push(name);
  }
  return applyDecorators(Injectable(), SetMetadata(UPSTREAM_KIND, name));
}

/** `connections.connection_type` */
const NAME = /^[A-Z][A-Z0-9_]{0,15}$/;

/** Every `@UpstreamKind` of the application, discovered at startup. A duplicate name stops the start. */
@Injectable()
export class UpstreamKinds implements OnModuleInit {
  private kinds = new Map<ConnectionType, Contribution<ConnectionType, UpstreamConnector>>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const kinds = contributedProviders<ConnectionType, UpstreamConnector>(this.discovery, UPSTREAM_KIND);
    this.kinds = byName(kinds, { sort: 'upstream kind', form: NAME, taken: OWN_TYPES });
  }

  /** Undefined for built-in types, and for types that no module of the application provides. */
  findByType(type: ConnectionType): UpstreamConnector | undefined {
    return this.kinds.get(type)?.value;
  }

  /** The connection types that callers can create. */
  creatableTypes(): ConnectionType[] {
    return ['HTTP', 'STDIO', ...this.kinds.keys()];
  }
}
