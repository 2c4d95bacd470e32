import { hash, randomBytes } from 'node:crypto';

const TOKEN = /^[\w-]{43}$/;

/** A new token for a link, and the hash under which it is stored. */
export function newLinkToken(): { readonly token: string; readonly tokenHash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, tokenHash: hash('sha256', token) };
}

/** The hash of a token from a link; undefined for text of another form. */
export function hashOfLinkToken(token: string): string | undefined {
  return TOKEN.test(token) ? hash('sha256', token) : undefined;
}
