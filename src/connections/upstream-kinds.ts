import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { decoratedProviders } from '../core/decorated-providers.js';
import { type ConnectionType, OWN_TYPES } from './connection.js';
import { UPSTREAM_KIND, type UpstreamConnector } from './upstream-kind.js';

/** `connections.connection_type` */
const NAME = /^[A-Z][A-Z0-9_]{0,15}$/;

/** Every `@UpstreamKind` of the application, discovered at startup. A duplicate name stops the start. */
@Injectable()
export class UpstreamKinds implements OnModuleInit {
  private readonly kinds = new Map<ConnectionType, UpstreamConnector>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const { metadata: name, instance } of decoratedProviders<ConnectionType>(this.discovery, UPSTREAM_KIND)) {
      const place = instance.constructor.name;
      if (!NAME.test(name)) throw new Error(`The upstream kind of ${place} has the invalid name "${name}".`);
      if (OWN_TYPES.has(name) || this.kinds.has(name)) {
        throw new Error(`Two upstream kinds are named ${name}; one of them is ${place}.`);
      }
      this.kinds.set(name, instance as UpstreamConnector);
    }
  }

  /** Undefined for built-in types, and for types that no module of the application provides. */
  findByType(type: ConnectionType): UpstreamConnector | undefined {
    return this.kinds.get(type);
  }

  /** The connection types that callers can create. */
  creatableTypes(): ConnectionType[] {
    return ['HTTP', 'STDIO', ...this.kinds.keys()];
  }
}
