import { createHash } from 'node:crypto';
import { holdsCredential } from '../../core/credential-forms.js';
import { faultAt } from '../../core/domain-error.js';

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The value of an `Idempotency-Key` header, and a hash of the request that it is used for. */
interface Idempotency {
  readonly key: string;
  readonly hash: string;
}

/** @throws DomainError `invalid_request` for a malformed key */
export function idempotencyOf(key: string | undefined, request: object): Idempotency | undefined {
  if (key === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(key) || holdsCredential(key)) {
    const rule = 'Must be 1 to 255 printable ASCII characters and must not contain a credential.';
    throw faultAt('Idempotency-Key', 'matches', rule);
  }
  return { key, hash: createHash('sha256').update(JSON.stringify(request)).digest('hex') };
}
