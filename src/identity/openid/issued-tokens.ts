import type * as openid from 'openid-client';

/** What the issuer issued for a person's sign-in, as far as it is kept. Secret: never log it. */
export interface IssuedTokens {
  readonly idToken: string;
  readonly refreshToken?: string | undefined;
  /** When the ID token ends, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Undefined for an answer without an ID token, as that to a refresh token can be (OpenID Connect Core §12.2). */
export function issuedTokensOf(
  answer: openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers,
): { readonly tokens: IssuedTokens; readonly claims: openid.IDToken } | undefined {
  const claims = answer.claims();
  if (claims === undefined || answer.id_token === undefined) return undefined;
  const { id_token: idToken, refresh_token: refreshToken } = answer;
  return { tokens: { idToken, refreshToken, expiresAt: claims.exp * 1000 }, claims };
}
