import { Injectable } from '@nestjs/common';
import { ApiKeyVerifier } from '../api-keys/api-key.verifier.js';
import { hashApiKey, isWellFormedApiKey } from '../common/api-key-value.js';
import { DomainError } from '../common/domain-error.js';
import type { Principal } from '../common/principal.js';

const SCHEME = 'bearer ';
const TOKEN = /^ *([^\s]+) *$/;

const CHALLENGE = { 'www-authenticate': 'Bearer realm="signalbox"' };
const INVALID_TOKEN_CHALLENGE = { 'www-authenticate': 'Bearer realm="signalbox",error="invalid_token"' };

/** A Signalbox key with its scheme has 60 characters. Longer headers are not cached: each idle connection could hold one. */
const MAX_KEPT_LENGTH = 64;

/** Turns an `Authorization` header into a principal. */
@Injectable()
export class Authenticator {
  private readonly presented = new WeakMap<object, PresentedKey>();

  constructor(private readonly apiKeys: ApiKeyVerifier) {}

  /**
   * Returns a promise only if the key is not cached.
   * @param connection the connection of the request
   * @throws DomainError `credential_missing`, `credential_invalid` or `credential_expired`, with the challenge of RFC 6750 §3
   */
  authenticate(header: string | undefined, connection: object): Principal | Promise<Principal> {
    if (header === undefined) {
      throw new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.', [], {
        headers: CHALLENGE,
      });
    }
    const hash = this.hashOf(header, connection);
    if (hash === undefined) throw refusal('credential_invalid');
    try {
      const principal = this.apiKeys.verify(hash);
      return principal instanceof Promise ? principal.catch(rethrow) : principal;
    } catch (error) {
      return rethrow(error);
    }
  }

  /**
   * The hash of the key, or undefined for a header without a well-formed key. Cached per connection: a caller sends the same
   * header with each request, and hashing costs more than the rest of the check.
   */
  private hashOf(header: string, connection: object): string | undefined {
    const known = this.presented.get(connection);
    if (known?.header === header) return known.hash;
    const token = bearerToken(header);
    // The key's checksum detects typing errors without a database query.
    const hash = token !== undefined && isWellFormedApiKey(token) ? hashApiKey(token) : undefined;
    if (header.length <= MAX_KEPT_LENGTH) this.presented.set(connection, { header, hash });
    return hash;
  }
}

/** The header last sent on a connection. */
interface PresentedKey {
  readonly header: string;
  readonly hash: string | undefined;
}

/** Adds the `WWW-Authenticate` challenge to the rejection of a credential. */
function rethrow(error: unknown): never {
  throw error instanceof DomainError ? refusal(error.code) : error;
}

function refusal(code: DomainError['code']): DomainError {
  const detail = 'The credential is unknown, deleted or expired.';
  return new DomainError(code, detail, [], { headers: INVALID_TOKEN_CHALLENGE });
}

/** The token of an `Authorization: Bearer` header (RFC 6750 §2.1; the scheme's case does not matter), or undefined. */
function bearerToken(header: string | undefined): string | undefined {
  if (header?.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return TOKEN.exec(header.slice(SCHEME.length))?.[1];
}
