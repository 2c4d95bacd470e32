import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsObject } from 'class-validator';

/** The service tries each key that fits a signature, so there are few. */
export const MAX_CLIENT_KEYS = 10;
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
/** What is kept of a key. */
const PUBLIC_MEMBERS = ['kty', 'kid', 'alg', 'use', 'crv', 'x', 'y', 'n', 'e'];
/** RFC 7518 §6.2.2, §6.3.2 and §6.4; RFC 8037 §2. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const CURVES: ReadonlySet<unknown> = new Set(['P-256', 'P-384', 'P-521', 'Ed25519']);

/** A key set (RFC 7517) in a request. Keys are never fetched from an address. */
export class JwksInput {
  /** Public keys for `RS*`, `ES*` or `EdDSA`. */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_CLIENT_KEYS)
  @IsObject({ each: true })
  keys: JsonWebKey[];
}

/** Why the key cannot verify the signatures of a client; undefined if it can. */
export function faultOfKey(key: JsonWebKey): string | undefined {
  if (PRIVATE_MEMBERS.some((name) => name in key)) {
    return 'The key is private or symmetric. Send its public half, and replace the key: others may have seen it.';
  }
  if (['kid', 'alg', 'use'].some((name) => name in key && typeof key[name] !== 'string')) {
    return 'The members kid, alg and use are texts.';
  }
  if (isStrong(key)) return undefined;
  return `Use an RSA key of ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits, or one on P-256, P-384, P-521 or Ed25519.`;
}

/** The key without members that the service has no use for. */
export function publicPartOf(key: JsonWebKey): JsonWebKey {
  return Object.fromEntries(PUBLIC_MEMBERS.filter((name) => name in key).map((name) => [name, key[name]]));
}

function isStrong(key: JsonWebKey): boolean {
  if (key.kty !== 'RSA' && !CURVES.has(key.crv)) return false;
  try {
    const { modulusLength: bits } = createPublicKey({ key, format: 'jwk' }).asymmetricKeyDetails ?? {};
    return bits === undefined || (bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS);
  } catch {
    return false;
  }
}
