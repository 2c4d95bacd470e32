import { randomBytes } from 'node:crypto';

const PREFIX = 'sbo_';
const SECRET_BYTES = 32;
const FORMAT = /^sbo_[A-Za-z0-9_-]{43}$/;

/** A new access or refresh token: `sbo_` and 256 random bits in base64url. The prefix lets logs recognize it. */
export function generateOauthToken(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** Does this text have the form of an access token of this service? */
export function isOauthToken(value: string): boolean {
  return FORMAT.test(value);
}
