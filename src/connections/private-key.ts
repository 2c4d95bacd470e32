import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { isRecord } from '../core/is-record.js';

const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
/** Preferred first. */
const RSA_ALGORITHMS = ['RS256', 'PS256', 'RS384', 'PS384', 'RS512', 'PS512'];
/** By the names that Node gives the curves. */
const CURVE_ALGORITHMS: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** A key with which a client signs assertions about itself. Secret: never log it. */
interface PrivateKey {
  readonly key: KeyObject;
  /** The algorithms (RFC 7518, RFC 8037) that it can sign with; preferred first. */
  readonly algorithms: readonly string[];
  /** The name under which the authorization server knows its public half; undefined for one in PEM. */
  readonly kid: string | undefined;
}

/** Reads a private key in PEM (PKCS #8, PKCS #1 or SEC 1) or as a JWK; undefined for any other text. */
export function parsePrivateKey(text: string): PrivateKey | undefined {
  try {
    const jwk: unknown = text.trimStart().startsWith('{') ? JSON.parse(text) : undefined;
    if (!isRecord(jwk)) return privateKeyOf(createPrivateKey(text));
    const key = privateKeyOf(createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' }));
    const { kid, alg } = jwk;
    const algorithms = key?.algorithms.filter((one) => alg === undefined || alg === one) ?? [];
    if (key === undefined || algorithms.length === 0) return undefined;
    return { ...key, algorithms, kid: typeof kid === 'string' ? kid : undefined };
  } catch {
    return undefined;
  }
}

function privateKeyOf(key: KeyObject): PrivateKey | undefined {
  const algorithms = algorithmsOf(key);
  return algorithms.length === 0 ? undefined : { key, algorithms, kid: undefined };
}

function algorithmsOf({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): readonly string[] {
  const { modulusLength: bits = 0, namedCurve: curve = '' } = details;
  if (type === 'rsa') return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS ? RSA_ALGORITHMS : [];
  if (type === 'ed25519') return ['EdDSA', 'Ed25519'];
  const algorithm = type === 'ec' ? CURVE_ALGORITHMS[curve] : undefined;
  return algorithm === undefined ? [] : [algorithm];
}
