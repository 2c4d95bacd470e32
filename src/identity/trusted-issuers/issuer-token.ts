import { decodeJwt, errors, jwtVerify, type JWTPayload, type JWTVerifyOptions } from 'jose';
import type { TrustedIssuer } from '../../core/config/trusted-issuers.js';
import { DomainError } from '../../core/domain-error.js';
import { isMistakable } from '../../core/email-address.js';
import type { IssuerKeys } from './issuer-keys.js';

/** The clocks of issuers may differ from ours by this much. */
export const CLOCK_SKEW_S = 30;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_LENGTH = 8192;
/** The type of an identity assertion (ID-JAG), which a client exchanges for a token. It opens nothing itself. */
export const ID_JAG_TYPE = 'oauth-id-jag+jwt';

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
  const { payload: claims, type } = await verifySignature(token, trusted, keys);
  if (type === ID_JAG_TYPE) throw new DomainError('credential_invalid');
  const audiences = [claims.aud ?? []].flat();
  const resources = audiences.map(resourceOf).filter((path) => path !== undefined);
  const isForService = audiences.includes(trusted.audience);
  const email = verifiedEmailOf(claims, trusted);
  const isAccepted = isForService || resources.length === 1;
  if (!isAccepted || email === undefined || claims.exp === undefined) throw new DomainError('credential_invalid');
  return {
    email,
    expiresAt: claims.exp,
    clientId: textOf(claims['azp']) ?? textOf(claims['client_id']) ?? null,
    resource: isForService ? undefined : resources[0],
    scopes: scopesOf(claims),
  };
}

/** The address of the person, if the issuer has verified it. */
export function verifiedEmailOf(claims: JWTPayload, { emailClaim }: TrustedIssuer): string | undefined {
  const email = textOf(claims[emailClaim]);
  return email !== undefined && claims['email_verified'] === true && !isMistakable(email) ? email : undefined;
}

/**
 * Undefined if the token has no `scope`. Some issuers write a list instead of the text of RFC 9068.
 * @throws DomainError `credential_invalid` for a `scope` of another form, because it was to narrow the token
 */
export function scopesOf({ scope }: JWTPayload): readonly string[] | undefined {
  if (scope === undefined) return undefined;
  if (typeof scope === 'string') return scope.split(' ').filter(Boolean);
  if (Array.isArray(scope) && scope.every((one) => typeof one === 'string')) return scope;
  throw new DomainError('credential_invalid');
}

/**
 * Verifies the signature, `iss`, `exp` and what the options demand.
 * @returns the claims, and the type in the token's header
 * @throws DomainError as `verifyIssuerToken`
 */
export async function verifySignature(
  token: string,
  trusted: TrustedIssuer,
  keys: IssuerKeys,
  options: JWTVerifyOptions = {},
): Promise<{ payload: JWTPayload; type: string | undefined }> {
  try {
    const findKey: Parameters<typeof jwtVerify>[1] = (header, input) => keys.findKey(trusted.issuer, header, input);
    const { payload, protectedHeader } = await jwtVerify(token, findKey, {
      ...options,
      issuer: trusted.issuer,
      algorithms: [...trusted.algorithms],
      clockTolerance: CLOCK_SKEW_S,
      requiredClaims: ['iss', 'aud', 'exp', ...(options.requiredClaims ?? [])],
    });
    // RFC 7515 §4.1.9
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '');
    return { payload, type };
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError(error instanceof errors.JWTExpired ? 'credential_expired' : 'credential_invalid');
  }
}

/** The claim if it is a text that the database can store. */
export function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim.isWellFormed() && !claim.includes('\0') ? claim : undefined;
}
