import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { type CredentialSource, CredentialSources } from '../credentials/credential-source.js';

const SCHEME = 'bearer ';
const TOKEN = /^ *([^\s]+) *$/;

/**
 * A Signalbox key with its scheme has 60 characters. Longer headers are not cached: each idle connection could hold
 * one.
 */
const MAX_KEPT_LENGTH = 64;

/** Turns the credential of a request into a principal. */
@Injectable()
export class Authenticator {
  private readonly presented = new WeakMap<object, PresentedCredential>();

  constructor(private readonly sources: CredentialSources) {}

  /**
   * Returns a promise only if the credential is not cached.
   * @param connection the connection of the request
   * @param org the organization slug in its path
   * @throws DomainError `credential_missing`, `credential_invalid` or `credential_expired`
   */
  authenticate(header: string | undefined, connection: object, org?: string): Principal | Promise<Principal> {
    if (header === undefined) {
      throw new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.');
    }
    const { source, key } = this.identify(header, connection);
    if (source === undefined || key === undefined) throw refusal('credential_invalid');
    return verified(source, key, org);
  }

  /**
   * The principal of a request without `Authorization`; undefined if it has no other credential either.
   * @param org the organization slug in its path
   * @throws DomainError `csrf_invalid`, `credential_invalid` or `organization_mismatch`
   */
  authenticateRequest(request: FastifyRequest, org: string): Principal | Promise<Principal> | undefined {
    const identified = this.sources.identifyRequest(request);
    return identified && verified(identified.source, identified.key, org);
  }

  /**
   * The source of the credential and its key there. Cached per connection: a caller sends the same header with each
   * request, and hashing costs more than the rest of the check.
   */
  private identify(header: string, connection: object): PresentedCredential {
    const known = this.presented.get(connection);
    if (known?.header === header) return known;
    const token = bearerToken(header);
    const found = token === undefined ? undefined : this.sources.identify(token);
    const presented = { header, source: found?.source, key: found?.key };
    if (header.length <= MAX_KEPT_LENGTH) this.presented.set(connection, presented);
    return presented;
  }
}

/** The header last sent on a connection; without a source if nothing recognizes its token. */
interface PresentedCredential {
  readonly header: string;
  readonly source: CredentialSource | undefined;
  readonly key: string | undefined;
}

function verified(source: CredentialSource, key: string, org: string | undefined): Principal | Promise<Principal> {
  try {
    const principal = source.verify(key, org);
    return principal instanceof Promise ? principal.catch(rethrow) : principal;
  } catch (error) {
    return rethrow(error);
  }
}

/** Every rejection of a credential reads the same. */
function rethrow(error: unknown): never {
  throw error instanceof DomainError && error.status === 401 ? refusal(error.code) : error;
}

function refusal(code: DomainError['code']): DomainError {
  return new DomainError(code, 'The credential is unknown, revoked or expired.');
}

/** The token of an `Authorization: Bearer` header (RFC 6750 §2.1; the scheme's case does not matter), or undefined. */
function bearerToken(header: string | undefined): string | undefined {
  if (header?.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return TOKEN.exec(header.slice(SCHEME.length))?.[1];
}
