import { Injectable } from '@nestjs/common';
import * as openid from 'openid-client';
import { isMistakable } from '../../core/email-address.js';
import { isLoopback } from '../../core/loopback.js';
import { AppConfig } from '../../core/config/app-config.js';

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

const OIDC_CALLBACK_PATH = '/auth/oidc/callback';
const SCOPE = 'openid email profile';
const TIMEOUT_S = 5;

interface SignInOptions {
  readonly isAgain: boolean;
  readonly isOffline: boolean;
}

/** What the callback compares with the request that started the sign-in. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The claims about a person that count here. */
export interface PersonClaims {
  readonly issuer: string;
  readonly subject: string;
  /** Only if the issuer has verified it. */
  readonly email: string | undefined;
  readonly name: string | undefined;
}

interface IssuerSignIn {
  readonly claims: PersonClaims;
  readonly tokens: IssuedTokens;
}

/** The client of the issuer at `OIDC_ISSUER` (OpenID Connect Core, code flow with PKCE). */
@Injectable()
export class OpenIdClient {
  private discovered: Promise<openid.Configuration> | undefined;

  constructor(private readonly config: AppConfig) {}

  /** The host of the issuer, for "sign in with …"; undefined if the service has no issuer. */
  get issuerName(): string | undefined {
    const { oidc } = this.config.settings;
    return oidc && new URL(oidc.issuer).host;
  }

  /**
   * The address to send the browser to, and what its callback is compared with.
   * @param options.isAgain the issuer asks for the password although the person is signed in there
   * @param options.isOffline the issuer is asked for a refresh token, if it has a scope for this
   */
  async begin({ isAgain, isOffline }: SignInOptions): Promise<{ url: string; pending: PendingSignIn }> {
    const configuration = await this.configuration();
    const hasOffline = configuration.serverMetadata().scopes_supported?.includes('offline_access') === true;
    const codeVerifier = openid.randomPKCECodeVerifier();
    const pending = { state: openid.randomState(), nonce: openid.randomNonce(), codeVerifier };
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: `${this.config.baseUrl}${OIDC_CALLBACK_PATH}`,
      scope: isOffline && hasOffline ? `${SCOPE} offline_access` : SCOPE,
      code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      state: pending.state,
      nonce: pending.nonce,
      ...(isAgain && { prompt: 'login' }),
    });
    return { url: url.href, pending };
  }

  /**
   * Exchanges the code of a callback. Validates state, issuer, PKCE, nonce and the ID token.
   * @param query of the callback, with the question mark
   * @throws an error of openid-client
   */
  async finish(query: string, { state, nonce, codeVerifier }: PendingSignIn): Promise<IssuerSignIn> {
    const configuration = await this.configuration();
    const answer = await openid.authorizationCodeGrant(
      configuration,
      new URL(`${this.config.baseUrl}${OIDC_CALLBACK_PATH}${query}`),
      { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier, idTokenExpected: true },
    );
    const issued = issuedTokensOf(answer);
    if (issued === undefined) throw new Error('The issuer sent no ID token.');
    const { tokens, claims: idToken } = issued;
    const { sub: subject, iss: issuer } = idToken;
    // Most issuers put the claims about the person into the response of the userinfo endpoint only.
    const isComplete = 'email' in idToken || configuration.serverMetadata().userinfo_endpoint === undefined;
    const claims = isComplete ? idToken : await openid.fetchUserInfo(configuration, answer.access_token, subject);
    const { email, email_verified: isVerified, name } = claims;
    const person = {
      issuer,
      subject,
      email: typeof email === 'string' && isVerified === true && !isMistakable(email) ? email : undefined,
      name: typeof name === 'string' && name !== '' ? name.slice(0, 128) : undefined,
    };
    return { claims: person, tokens };
  }

  /** Reads the issuer's metadata once; a failure is tried again with the next request. */
  configuration(): Promise<openid.Configuration> {
    this.discovered ??= this.readMetadata().catch((error: unknown) => {
      this.discovered = undefined;
      throw error;
    });
    return this.discovered;
  }

  private async readMetadata(): Promise<openid.Configuration> {
    const { oidc } = this.config.settings;
    if (oidc === undefined) throw new Error('OIDC_ISSUER is not set.');
    const { issuer, clientId, clientSecret } = oidc;
    // The settings allow http for issuers on the same machine only.
    const execute = isLoopback(new URL(issuer)) ? [openid.allowInsecureRequests] : [];
    const options = { execute, timeout: TIMEOUT_S };
    const found = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), options);
    const metadata = found.serverMetadata();
    // Basic is the default of OpenID Connect Discovery.
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authentication = methods.includes('client_secret_basic') ? openid.ClientSecretBasic : openid.ClientSecretPost;
    const configuration = new openid.Configuration(metadata, clientId, undefined, authentication(clientSecret));
    configuration.timeout = TIMEOUT_S;
    for (const prepare of execute) prepare(configuration);
    return configuration;
  }
}
