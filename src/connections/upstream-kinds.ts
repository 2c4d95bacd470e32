import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { byName, type Contribution, contributedProviders } from '../core/contributions.js';
import { type ConnectionType, OWN_TYPES } from './connection.js';
import { UPSTREAM_KIND, type UpstreamConnector } from './upstream-kind.js';

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
