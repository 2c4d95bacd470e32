/** The token of an `Authorization: Bearer` header (RFC 6750 §2.1; the scheme's case does not matter), or undefined. */
export function bearerToken(header: string | undefined): string | undefined {
  const match = header === undefined ? null : /^Bearer +([^\s]+) *$/i.exec(header);
  return match?.[1];
}
