/** Starts every access and refresh token; 256 random bits in base64url follow. */
export const OAUTH_TOKEN_PREFIX = 'sbo_';

const FORMAT = /^sbo_[A-Za-z0-9_-]{43}$/;

/** True if the text has the form of an access token of this service. */
export function isOauthToken(value: string): boolean {
  return FORMAT.test(value);
}
