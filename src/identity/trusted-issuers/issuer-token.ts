import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose';
import type { TrustedIssuer } from '../../core/config/trusted-issuers.js';
import { DomainError } from '../../core/domain-error.js';
import { isMistakable } from '../../core/email-address.js';
import type { IssuerKeys } from './issuer-keys.js';

/** The clocks of issuers may differ from ours by this much. */
export const CLOCK_SKEW_S = 30;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_LENGTH = 8192;

/** What a verified token says. */
export interface IssuerClaims {
  readonly email: string;
  /** End of the token's validity in seconds since the epoch, without the skew. */
  readonly expiresAt: number;
  /** The client that got the token; null if the token does not say. */
  readonly clientId: string | null;
  /** The path of the only resource that the token is for; undefined for a token with the configured audience. */
  readonly resource: string | undefined;
  /** Undefined if the token has no `scope`. */
  readonly scopes: readonly string[] | undefined;
}

/** The issuer that an unverified token names; undefined for anything but a JWT. */
export function issuerNamedBy(token: string): string | undefined {
  if (token.length > MAX_LENGTH || !JWT.test(token)) return undefined;
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/**
 * Verifies a token: signature, `iss`, `aud`, `exp`, `nbf`, and that the issuer has verified the e-mail address (RFC
 * 7519 §4.1, RFC 8725 §3).
 * @param resourceOf the path of a resource of this service that an audience names
 * @throws DomainError `credential_invalid`, `credential_expired`, `service_unavailable` while the issuer's keys cannot
 *   be read
 */
export async function verifyIssuerToken(
  token: string,
  trusted: TrustedIssuer,
  { keys, resourceOf }: { keys: IssuerKeys; resourceOf: (audience: string) => string | undefined },
): Promise<IssuerClaims> {
  const claims = await verifySignature(token, trusted, keys);
  const audiences = [claims.aud ?? []].flat();
  const resources = audiences.map(resourceOf).filter((path) => path !== undefined);
  const isForService = audiences.includes(trusted.audience);
  const email = claims[trusted.emailClaim];
  const isAccepted = isForService || resources.length === 1;
  const isKnown = typeof email === 'string' && claims['email_verified'] === true && !isMistakable(email);
  if (!isAccepted || !isKnown || claims.exp === undefined) throw new DomainError('credential_invalid');
  return {
    email,
    expiresAt: claims.exp,
    clientId: textOf(claims['azp']) ?? textOf(claims['client_id']) ?? null,
    resource: isForService ? undefined : resources[0],
    scopes: textOf(claims['scope'])?.split(' ').filter(Boolean),
  };
}

async function verifySignature(token: string, trusted: TrustedIssuer, keys: IssuerKeys): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, (header, input) => keys.findKey(trusted.issuer, header, input), {
      issuer: trusted.issuer,
      algorithms: [...trusted.algorithms],
      clockTolerance: CLOCK_SKEW_S,
      requiredClaims: ['iss', 'aud', 'exp'],
    });
    return payload;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError(error instanceof errors.JWTExpired ? 'credential_expired' : 'credential_invalid');
  }
}

function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' ? claim : undefined;
}
