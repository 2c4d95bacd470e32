import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { errors, type JWK, Provider, type TokenEndpointGrantContext } from 'oidc-provider';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const EXCHANGE_PARAMETERS = [
  'requested_token_type',
  'audience',
  'resource',
  'scope',
  'subject_token',
  'subject_token_type',
] as const;

type ExchangeParameters = Record<(typeof EXCHANGE_PARAMETERS)[number], string | undefined>;

type ExchangeContext = TokenEndpointGrantContext<ExchangeParameters>;

/** A request for an assertion about a person. */
export type ExchangeRequest = ExchangeParameters & {
  /** Of the person whose ID token was presented. */
  readonly sub: string;
};

/** How the issuer answers such requests. */
interface Exchanges {
  /** The client that the assertion is for, as the issuer's administrator has stored it. */
  clientId: string;
  /** Other claims than those that are right. */
  claims: JWTPayload;
  issuedTokenType: string;
  /** The error code of a refusal. */
  refusal?: string | undefined;
  /** Another issuer, which asserts the people of this one: makes the whole answer. */
  delegate?: (request: ExchangeRequest) => Promise<object>;
  readonly requests: ExchangeRequest[];
}

/** What the issuer says about the person who signs in. */
interface IssuedClaims {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
}

/** A real OpenID provider on a loopback address, with a person who signs in without a form. */
export class Issuer {
  person: IssuedClaims = { sub: 'nobody' };
  /** Lifetime of the ID tokens that are issued from now on, in seconds. */
  idTokenTtlS = 3600;
  /** Whether sign-ins give refresh tokens, which rotate. */
  hasRefreshTokens = false;
  /** How many tokens were issued for a refresh token. */
  refreshes = 0;
  /** Changes answers; returns false to leave the answer to the provider. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly exchanges: Exchanges = { clientId: 'signalbox', claims: {}, issuedTokenType: ID_JAG, requests: [] };
  readonly #refreshTokens: { destroy(): Promise<void> }[] = [];
  /** By subject, what an assertion says about the person. */
  readonly #people = new Map<string, IssuedClaims>();

  private constructor(
    readonly url: string,
    private readonly server: Server,
    private readonly keys: GenerateKeyPairResult,
    private readonly jwk: JWK,
  ) {}

  static async start(redirectUris: () => string[]): Promise<Issuer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const keys = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(keys.privateKey)), kid: 'issuer', alg: 'RS256', use: 'sig' };
    const issuer = new Issuer(url, server, keys, jwk as JWK);
    let handle: ReturnType<Provider['callback']> | undefined;
    server.on('request', (request, response) => {
      if (issuer.intercept(request, response)) return;
      handle ??= issuer.#provider(redirectUris()).callback();
      void handle(request, response);
    });
    return issuer;
  }

  env(): Record<string, string> {
    return { OIDC_ISSUER: this.url, OIDC_CLIENT_ID: 'signalbox', OIDC_CLIENT_SECRET: 'issuer-secret' };
  }

  /** Follows the redirects of the issuer like a browser; returns the address of the callback. */
  async authorize(address: string): Promise<string> {
    const cookies = new Map<string, string>();
    let url = address;
    for (let i = 0; i < 10 && url.startsWith(this.url); i++) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) throw new Error(`The issuer answered ${response.status}: ${await response.text()}`);
      url = new URL(location, url).href;
    }
    return url;
  }

  /** From now on, no refresh token that was issued before is accepted. */
  async revokeRefreshTokens(): Promise<void> {
    for (const token of this.#refreshTokens) await token.destroy();
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  #provider(redirectUris: string[]): Provider {
    const provider = new Provider(this.url, {
      clients: [
        {
          client_id: 'signalbox',
          client_secret: 'issuer-secret',
          redirect_uris: redirectUris,
          grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
        },
      ],
      jwks: { keys: [this.jwk] },
      ttl: { IdToken: () => this.idTokenTtlS },
      issueRefreshToken: async () => this.hasRefreshTokens,
      rotateRefreshToken: true,
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      cookies: { keys: ['test'] },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      findAccount: (_context, sub) => {
        const person = this.#people.get(sub) ?? this.person;
        return { accountId: person.sub, claims: () => ({ ...person }) };
      },
      loadExistingGrant: async (context) => {
        const { client, session } = context.oidc;
        const grant = new context.oidc.provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
        grant.addOIDCScope('openid email profile offline_access');
        await grant.save();
        return grant;
      },
      interactions: { url: () => '/finish' },
    });
    const exchange = (context: ExchangeContext): Promise<void> => this.#exchange(context);
    provider.registerGrantType(TOKEN_EXCHANGE, exchange, [...EXCHANGE_PARAMETERS]);
    provider.on('access_token.saved', ({ gty }: { gty: string }) => {
      if (gty.includes('refresh_token')) this.refreshes++;
    });
    provider.on(
      'refresh_token.saved' as 'server_error',
      ((token: { destroy(): Promise<void> }) => {
        this.#refreshTokens.push(token);
      }) as never,
    );
    provider.use(async (context, next) => {
      if (context.path !== '/finish') return next();
      this.#people.set(this.person.sub, { ...this.person });
      const result = { login: { accountId: this.person.sub } };
      context.redirect(await provider.interactionResult(context.req, context.res, result));
    });
    return provider;
  }
  /** Asserts the person of the ID token to another authorization server. */
  async #exchange(context: ExchangeContext): Promise<void> {
    const { client, params } = context.oidc;
    const parameters: ExchangeParameters = params;
    const checks = { issuer: this.url, audience: client.clientId };
    const { payload } = await jwtVerify(parameters.subject_token ?? '', this.keys.publicKey, checks).catch(() => {
      throw new errors.InvalidGrant('the ID token is not valid');
    });
    const { clientId, claims, issuedTokenType, refusal, delegate, requests } = this.exchanges;
    const sub = payload.sub ?? '';
    const asked = Object.fromEntries(EXCHANGE_PARAMETERS.map((name) => [name, parameters[name]]));
    const request = { ...(asked as ExchangeParameters), sub };
    requests.push(request);
    if (refusal !== undefined) throw new errors.CustomOIDCProviderError(refusal, 'the administrator has not agreed');
    if (delegate !== undefined) {
      context.body = await delegate(request);
      return;
    }
    const { resource, audience: aud, scope } = parameters;
    const about = { ...this.#people.get(sub), aud, resource, scope, client_id: clientId, ...claims };
    const assertion = new SignJWT(about as JWTPayload)
      .setProtectedHeader({ alg: 'RS256', kid: 'issuer', typ: 'oauth-id-jag+jwt' })
      .setIssuer(this.url)
      .setIssuedAt()
      .setExpirationTime('5m')
      .setJti(randomUUID());
    const value = await assertion.sign(this.keys.privateKey);
    context.body = { access_token: value, issued_token_type: issuedTokenType, token_type: 'N_A', expires_in: 300 };
  }
}
