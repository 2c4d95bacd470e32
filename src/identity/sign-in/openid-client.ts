import { Injectable } from '@nestjs/common';
import * as openid from 'openid-client';
import { isMistakable } from '../../core/email-address.js';
import { isLoopback } from '../../core/loopback.js';
import { AppConfig } from '../../core/config/app-config.js';

const OIDC_CALLBACK_PATH = '/auth/oidc/callback';
const TIMEOUT_S = 5;

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

/** The client of the issuer at `OIDC_ISSUER` (OpenID Connect Core, code flow with PKCE). */
@Injectable()
export class OpenIdClient {
  private configuration: Promise<openid.Configuration> | undefined;

  constructor(private readonly config: AppConfig) {}

  /** The host of the issuer, for "sign in with …"; undefined if the service has no issuer. */
  get issuerName(): string | undefined {
    const { oidc } = this.config.settings;
    return oidc && new URL(oidc.issuer).host;
  }

  /**
   * The address to send the browser to, and what its callback is compared with.
   * @param options.isAgain the issuer asks for the password although the person is signed in there
   */
  async begin({ isAgain }: { isAgain: boolean }): Promise<{ url: string; pending: PendingSignIn }> {
    const configuration = await this.discover();
    const codeVerifier = openid.randomPKCECodeVerifier();
    const pending = { state: openid.randomState(), nonce: openid.randomNonce(), codeVerifier };
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: `${this.config.baseUrl}${OIDC_CALLBACK_PATH}`,
      scope: 'openid email profile',
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
  async finish(query: string, { state, nonce, codeVerifier }: PendingSignIn): Promise<PersonClaims> {
    const configuration = await this.discover();
    const tokens = await openid.authorizationCodeGrant(
      configuration,
      new URL(`${this.config.baseUrl}${OIDC_CALLBACK_PATH}${query}`),
      { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier, idTokenExpected: true },
    );
    const idToken = tokens.claims();
    if (idToken === undefined) throw new Error('The issuer sent no ID token.');
    const { sub: subject, iss: issuer } = idToken;
    // Most issuers put the claims about the person into the response of the userinfo endpoint only.
    const isComplete = 'email' in idToken || configuration.serverMetadata().userinfo_endpoint === undefined;
    const claims = isComplete ? idToken : await openid.fetchUserInfo(configuration, tokens.access_token, subject);
    const { email, email_verified: isVerified, name } = claims;
    return {
      issuer,
      subject,
      email: typeof email === 'string' && isVerified === true && !isMistakable(email) ? email : undefined,
      name: typeof name === 'string' && name !== '' ? name.slice(0, 128) : undefined,
    };
  }

  /** Reads the issuer's metadata once; a failure is tried again with the next sign-in. */
  private discover(): Promise<openid.Configuration> {
    this.configuration ??= this.readMetadata().catch((error: unknown) => {
      this.configuration = undefined;
      throw error;
    });
    return this.configuration;
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
