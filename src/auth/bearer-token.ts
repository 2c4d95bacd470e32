const SCHEME = 'bearer ';
const TOKEN = /^ *([^\s]+) *$/;

/** The token of an `Authorization: Bearer` header (RFC 6750 §2.1; the scheme's case does not matter), or undefined. */
export function bearerToken(header: string | undefined): string | undefined {
  if (header?.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return TOKEN.exec(header.slice(SCHEME.length))?.[1];
}
