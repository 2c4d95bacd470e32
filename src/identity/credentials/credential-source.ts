import { SetMetadata, Injectable, type OnModuleInit } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DiscoveryService } from '@nestjs/core';
import type { EntityManager } from 'typeorm';
import type { PermissionMap } from '../../core/permissions.js';
import type { CredentialKind, Principal } from '../../core/principal.js';
import { byName, contributedProviders } from '../../core/contributions.js';

/** Verifies and watches one kind of credential. A provider decorated with `@VerifiesCredentials` implements it. */
export interface CredentialSource {
  /**
   * The key under which `verify` finds the token, such as its hash; undefined for a token of another form. Cached with
   * the connection of the caller.
   */
  keyOf(token: string): string | undefined;

  /**
   * The key of a credential that a request has elsewhere than in `Authorization`; undefined if it has none. Called only
   * for requests without that header, so it must cost next to nothing for a request without such a credential.
   * @throws DomainError `csrf_invalid`
   */
  keyOfRequest?(request: FastifyRequest): string | undefined;

  /**
   * Returns a promise only if the credential is not cached. Caches it for less than a second, so that the end of a
   * credential takes effect within a second in every process.
   * @param org the organization slug in the path of the request; for credentials that are not bound to one organization
   * @throws DomainError `credential_invalid` or `credential_expired`
   */
  verify(key: string, org?: string): Principal | Promise<Principal>;

  /**
   * The current permissions of those of the given credentials (`Principal.credentialId`) that are still valid, by id.
   * Reads them from the database.
   * @param manager of a transaction that needs the answer; it is asked for one id
   */
  findUsable(ids: readonly string[], manager?: EntityManager): Promise<ReadonlyMap<string, PermissionMap>>;
}

const CREDENTIAL_SOURCE = 'signalbox:credential-source';

/** Makes a provider the `CredentialSource` of a kind. Two for one kind stop the start. */
export function VerifiesCredentials(kind: CredentialKind): ClassDecorator {
  return SetMetadata(CREDENTIAL_SOURCE, kind);
}

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
