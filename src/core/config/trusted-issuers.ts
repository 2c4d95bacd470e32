import { ConfigError } from './env-reader.js';

/** Signatures with a public key only: with `HS*`, everybody who can verify a token can make one. */
export const ISSUER_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const;

/** An OpenID provider whose tokens are accepted for members. */
export interface TrustedIssuer {
  /** As in `iss`, letter by letter. */
  readonly issuer: string;
  /** Accepted as `aud`, in addition to the resource that the request is for. */
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** The claim with the e-mail address of the member. */
  readonly emailClaim: string;
  /** Whether the provider may vouch for people to OAuth clients (ID-JAG), without their consent. */
  readonly idJag: boolean;
}

const PROPERTIES = new Set(['issuer', 'audience', 'algorithms', 'email_claim', 'id_jag']);
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Parses `TRUSTED_ISSUERS`: a JSON list of `{issuer, audience, algorithms?, email_claim?, id_jag?}`.
 * @throws ConfigError
 */
export function parseTrustedIssuers(text: string): readonly TrustedIssuer[] {
  const entries = parseList(text).map(parseEntry);
  if (new Set(entries.map(({ issuer }) => issuer)).size < entries.length) {
    throw new ConfigError('TRUSTED_ISSUERS contains an issuer twice.');
  }
  return entries;
}

function parseList(text: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list;
  } catch {
    // The same sentence for all texts.
  }
  throw new ConfigError(
    'TRUSTED_ISSUERS must be a JSON list such as [{"issuer":"https://id.example.com","audience":"…"}].',
  );
}

function parseEntry(entry: unknown, index: number): TrustedIssuer {
  const at = `TRUSTED_ISSUERS[${index}]`;
  if (typeof entry !== 'object' || entry === null) throw new ConfigError(`${at} must be an object.`);
  const unknown = Object.keys(entry).find((name) => !PROPERTIES.has(name));
  if (unknown !== undefined) throw new ConfigError(`${at} has the unknown property ${unknown}.`);
  const {
    issuer,
    audience,
    algorithms,
    email_claim: emailClaim,
    id_jag: idJag = false,
  } = entry as Record<string, unknown>;
  if (typeof issuer !== 'string' || !isIssuerUrl(issuer)) {
    throw new ConfigError(`${at}.issuer must be an https URL without query and fragment (http only for loopback).`);
  }
  if (!isText(audience)) throw new ConfigError(`${at}.audience must be the aud of the tokens.`);
  if (algorithms !== undefined && !isAlgorithms(algorithms)) {
    throw new ConfigError(`${at}.algorithms must be a list of ${ISSUER_ALGORITHMS.join(', ')}.`);
  }
  if (emailClaim !== undefined && !isText(emailClaim))
    throw new ConfigError(`${at}.email_claim must be the name of a claim.`);
  if (typeof idJag !== 'boolean') throw new ConfigError(`${at}.id_jag must be true or false.`);
  return { issuer, audience, algorithms: algorithms ?? ISSUER_ALGORITHMS, emailClaim: emailClaim ?? 'email', idJag };
}

function isIssuerUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK_NAMES.has(url.hostname));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isAlgorithms(value: unknown): value is readonly string[] {
  const known: readonly unknown[] = ISSUER_ALGORITHMS;
  return Array.isArray(value) && value.length > 0 && value.every((name) => known.includes(name));
}
