import { Injectable } from '@nestjs/common';
import { ApiKeyVerifier } from '../api-keys/api-key.verifier.js';
import { DomainError } from '../common/domain-error.js';
import type { Principal } from '../common/principal.js';
import { bearerToken } from './bearer-token.js';

const CHALLENGE = { 'www-authenticate': 'Bearer realm="signalbox"' };
const INVALID_TOKEN_CHALLENGE = { 'www-authenticate': 'Bearer realm="signalbox",error="invalid_token"' };

/** Turns an `Authorization` header into a principal. */
@Injectable()
export class Authenticator {
  constructor(private readonly apiKeys: ApiKeyVerifier) {}

  /**
   * @throws DomainError `credential_missing`, `credential_invalid` or `credential_expired` (401, with the challenge of RFC 6750 §3)
   */
  async authenticate(header: string | undefined): Promise<Principal> {
    if (header === undefined) {
      throw new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.', [], {
        headers: CHALLENGE,
      });
    }
    try {
      const token = bearerToken(header);
      if (token === undefined) throw new DomainError('credential_invalid');
      return await this.apiKeys.verify(token);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const detail = 'The presented credential is unknown, deleted or expired.';
      throw new DomainError(error.code, detail, [], { headers: INVALID_TOKEN_CHALLENGE });
    }
  }
}
