import { Injectable } from '@nestjs/common';
import type { JWTPayload } from 'jose';
import { AppConfig } from '../../core/config/app-config.js';
import type { TrustedIssuer } from '../../core/config/trusted-issuers.js';
import { DomainError } from '../../core/domain-error.js';
import { IssuerKeys } from './issuer-keys.js';
import {
  CLOCK_SKEW_S,
  ID_JAG_TYPE,
  issuerNamedBy,
  scopesOf,
  textOf,
  verifiedEmailOf,
  verifySignature,
} from './issuer-token.js';

/** How old an assertion can be, whatever its `exp`: its use is remembered as long. */
const MAX_AGE_S = 3_600;
/** Of a subject (OpenID Connect Core §2). */
const MAX_SUBJECT_LENGTH = 255;

/** What a verified assertion says: a company's identity provider vouches for a person to a client, for one resource. */
export interface IdJag {
  readonly issuer: string;
  readonly subject: string;
  /** Undefined unless the issuer has verified it. */
  readonly email: string | undefined;
  readonly clientId: string;
  /** The resource as the issuer names it. */
  readonly resource: string;
  /** Undefined if the assertion does not narrow the scopes. */
  readonly scopes: readonly string[] | undefined;
  /** Unique for the issuer. */
  readonly id: string;
  /** Seconds after which the assertion is certainly invalid. */
  readonly remembersFor: number;
}

/**
 * Verifies identity assertions (draft-ietf-oauth-identity-assertion-authz-grant, "ID-JAG") of the `TRUSTED_ISSUERS`
 * with `id_jag`.
 */
@Injectable()
export class IdJagVerifier {
  private readonly issuers: readonly TrustedIssuer[];

  constructor(
    { settings }: AppConfig,
    private readonly keys: IssuerKeys,
  ) {
    this.issuers = settings.trustedIssuers.filter(({ idJag }) => idJag);
  }

  /** Whether an issuer may vouch for people at all. */
  get isOffered(): boolean {
    return this.issuers.length > 0;
  }

  /**
   * @param audience the issuer identifier of the authorization server that was asked
   * @throws DomainError `credential_invalid`, `credential_expired`, `service_unavailable` while the issuer's keys
   *   cannot be read
   */
  async verify(assertion: string, audience: string): Promise<IdJag> {
    const named = issuerNamedBy(assertion);
    const trusted = this.issuers.find(({ issuer }) => issuer === named);
    if (trusted === undefined) throw new DomainError('credential_invalid');
    const { payload } = await verifySignature(assertion, trusted, this.keys, {
      // Clients that parse the address ask for it with a slash.
      audience: [audience, `${audience}/`],
      typ: ID_JAG_TYPE,
      maxTokenAge: MAX_AGE_S,
      requiredClaims: ['sub', 'jti', 'client_id', 'resource'],
    });
    return toIdJag(payload, trusted);
  }
}

/** @throws DomainError `credential_invalid` */
function toIdJag(claims: JWTPayload, trusted: TrustedIssuer): IdJag {
  const { aud, exp = 0, iat = 0 } = claims;
  const [audiences, resources] = [[aud].flat(), [claims['resource']].flat()];
  const [subject, id, clientId] = [textOf(claims.sub), textOf(claims.jti), textOf(claims['client_id'])];
  const resource = resources.length === 1 ? textOf(resources[0]) : undefined;
  const isComplete = subject && id && clientId && resource;
  // A second audience could use the assertion here.
  if (!isComplete || subject.length > MAX_SUBJECT_LENGTH || audiences.length !== 1)
    throw new DomainError('credential_invalid');
  const end = Math.min(exp, iat + MAX_AGE_S) + 2 * CLOCK_SKEW_S;
  return {
    issuer: trusted.issuer,
    subject,
    email: verifiedEmailOf(claims, trusted),
    clientId,
    resource,
    scopes: scopesOf(claims),
    id,
    remembersFor: Math.ceil(end - Date.now() / 1000),
  };
}
