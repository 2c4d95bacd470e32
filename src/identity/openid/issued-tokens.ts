import type * as openid from 'openid-client';

/** What the issuer issued for a person's sign-in, as far as it is kept. Secret: never log it. */
export interface IssuedTokens {
  readonly idToken: string;
  readonly refreshToken?: string | undefined;
  /** When the ID token ends, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** @throws Error without an ID token */
export function issuedTokensOf(
  answer: openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers,
): IssuedTokens & { readonly subject: string } {
  const claims = answer.claims();
  if (claims === undefined || answer.id_token === undefined) throw new Error('The issuer sent no ID token.');
  const { id_token: idToken, refresh_token: refreshToken } = answer;
  return { idToken, refreshToken, expiresAt: claims.exp * 1000, subject: claims.sub };
}
