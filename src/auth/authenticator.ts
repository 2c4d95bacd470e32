import { Injectable } from '@nestjs/common';
import { ApiKeyVerifier } from '../api-keys/api-key.verifier.js';
import { hashApiKey, isWellFormedApiKey } from '../common/api-key-value.js';
import { DomainError } from '../common/domain-error.js';
import type { Principal } from '../common/principal.js';

const SCHEME = 'bearer ';
const TOKEN = /^ *([^\s]+) *$/;

const CHALLENGE = { 'www-authenticate': 'Bearer realm="signalbox"' };
const INVALID_TOKEN_CHALLENGE = { 'www-authenticate': 'Bearer realm="signalbox",error="invalid_token"' };

/** One of our keys with its scheme has 60 characters. A longer header is not kept: there may be one for each idle connection. */
const MAX_KEPT_LENGTH = 64;

/** Turns an `Authorization` header into a principal. */
@Injectable()
export class Authenticator {
  private readonly presented = new WeakMap<object, PresentedKey>();

  constructor(private readonly apiKeys: ApiKeyVerifier) {}

  /**
   * A promise only when the key has to be read.
   * @param connection what the request came by
   * @throws DomainError `credential_missing`, `credential_invalid` or `credential_expired` (401, with the challenge of RFC 6750 §3)
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
   * Undefined for a header that holds none of our keys. A caller that keeps its connection presents the same header with each
   * request, and hashing it costs more than all the rest of the check.
   */
  private hashOf(header: string, connection: object): string | undefined {
    const known = this.presented.get(connection);
    if (known?.header === header) return known.hash;
    const token = bearerToken(header);
    // Typing errors need no database to be refused.
    const hash = token !== undefined && isWellFormedApiKey(token) ? hashApiKey(token) : undefined;
    if (header.length <= MAX_KEPT_LENGTH) this.presented.set(connection, { header, hash });
    return hash;
  }
}

/** What was last presented on a connection. */
interface PresentedKey {
  readonly header: string;
  readonly hash: string | undefined;
}

/** Whoever hears that a credential is no good hears how one is presented, too. */
function rethrow(error: unknown): never {
  throw error instanceof DomainError ? refusal(error.code) : error;
}

function refusal(code: DomainError['code']): DomainError {
  const detail = 'The presented credential is unknown, deleted or expired.';
  return new DomainError(code, detail, [], { headers: INVALID_TOKEN_CHALLENGE });
}

/** The token of an `Authorization: Bearer` header (RFC 6750 §2.1; the scheme's case does not matter), or undefined. */
function bearerToken(header: string | undefined): string | undefined {
  if (header?.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return TOKEN.exec(header.slice(SCHEME.length))?.[1];
}
