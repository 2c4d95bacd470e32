import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { byName, contributedProviders } from '../../core/contributions.js';
import type { CredentialKind } from '../../core/principal.js';
import { CREDENTIAL_SOURCE, type CredentialSource } from './credential-source.js';

/** A source, and the key of a credential there. */
interface IdentifiedCredential {
  readonly source: CredentialSource;
  readonly key: string;
}

/** The sources of all kinds of credentials, discovered at startup. */
@Injectable()
export class CredentialSources implements OnModuleInit {
  private readonly sources = new Map<string, CredentialSource>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const sources = contributedProviders<CredentialKind, CredentialSource>(this.discovery, CREDENTIAL_SOURCE);
    for (const [kind, { value }] of byName(sources, { sort: 'credential source' })) this.sources.set(kind, value);
  }

  sourceOf(kind: CredentialKind): CredentialSource | undefined {
    return this.sources.get(kind);
  }

  /** The source that recognizes the token, with the token's key. */
  identify(token: string): IdentifiedCredential | undefined {
    for (const source of this.sources.values()) {
      const key = source.keyOf(token);
      if (key !== undefined) return { source, key };
    }
    return undefined;
  }

  /**
   * The same for a request without `Authorization`.
   * @throws DomainError `csrf_invalid`
   */
  identifyRequest(request: FastifyRequest): IdentifiedCredential | undefined {
    for (const source of this.sources.values()) {
      const key = source.keyOfRequest?.(request);
      if (key !== undefined) return { source, key };
    }
    return undefined;
  }
}
