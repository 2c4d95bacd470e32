import { type Configuration, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { Settings } from '../../core/config/settings.js';
import { ISSUER_ALGORITHMS } from '../../core/config/trusted-issuers.js';
import { MAX_CLIENT_KEYS } from './client-keys.js';
import { type RequestedResource, parseResource } from './oauth-resources.js';
import type { PrivateJwk } from './signing-keys.js';

/** The paths of the authorization server, below its origin. */
export const OAUTH_PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  jwks: '/oauth/jwks',
  interaction: '/oauth/interaction',
} as const;

const CLIENT_DOCUMENT_DRAFT = 'draft-02';
const MAX_DOCUMENT_BYTES = 64 * 1024;
const CODE_TTL_S = 60;
const INTERACTION_TTL_S = 3_600;
/** A grant ends when it is revoked, or some time after its last token has expired. */
const GRANT_TTL_S = 10 * 365 * 86_400;
/** Of a client. */
const MAX_NAME_LENGTH = 256;
const UNSHOWABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const CLOCK_TOLERANCE_S = 30;
/** Of an assertion with which a client authenticates. */
const MAX_ASSERTION_LIFETIME_S = 3_600;

/** What the configuration needs from the service. */
interface ProviderParts {
  readonly adapter: NonNullable<Configuration['adapter']>;
  readonly findAccount: NonNullable<Configuration['findAccount']>;
  readonly loadExistingGrant: NonNullable<Configuration['loadExistingGrant']>;
  readonly renderError: NonNullable<Configuration['renderError']>;
  readonly fetch: NonNullable<Configuration['fetch']>;
  /** Refuses a resource that a client does not open for itself. */
  readonly requireOwnResource: (resource: RequestedResource, clientId: string) => Promise<void>;
  readonly signingKeys: readonly PrivateJwk[];
  readonly cookieKeys: readonly string[];
}

/**
 * Configures oidc-provider as the authorization server of MCP (specification 2025-11-25, "Authorization"):
 * authorization code with PKCE S256, one resource per grant, opaque access tokens, rotating refresh tokens, dynamic
 * registration, client id metadata documents, and clients that act for themselves.
 * @param issuer the origin of the service, as the request names it
 */
export function providerConfiguration(issuer: string, settings: Settings, parts: ProviderParts): Configuration {
  const resourceOf = (indicator: string): RequestedResource => {
    const resource = parseResource(indicator, issuer);
    if (resource === undefined)
      throw new errors.InvalidTarget('the resource indicator names no resource of this service');
    return resource;
  };
  return {
    adapter: parts.adapter,
    findAccount: parts.findAccount,
    loadExistingGrant: parts.loadExistingGrant,
    renderError: parts.renderError,
    fetch: parts.fetch,
    fetchResponseBodyLimits: { 'client_id metadata document': MAX_DOCUMENT_BYTES },
    jwks: { keys: [...parts.signingKeys] },
    cookies: { keys: [...parts.cookieKeys] },
    clockTolerance: CLOCK_TOLERANCE_S,
    scopes: ['openid', 'offline_access'],
    claims: { openid: ['sub'] },
    responseTypes: ['code'],
    pkce: { required: () => true },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    enabledJWA: { clientAuthSigningAlgValues: ISSUER_ALGORITHMS },
    assertJwtClientAuthClaimsAndHeader: (_ctx, { exp }) => requireShortLived(Number(exp)),
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'], application_type: 'native' },
    extraClientMetadata: {
      properties: ['software_id'],
      validator: (_ctx, _key, _value, metadata) => {
        requireShowable(metadata);
        requireInlineKeys(metadata);
        makeNative(metadata);
      },
    },
    // Nothing is derived from it here; anybody could have the service request any address.
    sectorIdentifierUriValidate: () => false,
    clientBasedCORS: () => true,
    rotateRefreshToken: true,
    expiresWithSession: async () => false,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    interactions: {
      url: (_ctx, { uid }) => `${OAUTH_PATHS.interaction}/${uid}`,
      policy: consentPolicy(),
    },
    routes: {
      authorization: OAUTH_PATHS.authorize,
      token: OAUTH_PATHS.token,
      registration: OAUTH_PATHS.register,
      revocation: OAUTH_PATHS.revoke,
      jwks: OAUTH_PATHS.jwks,
    },
    ttl: {
      AccessToken: settings.oauthAccessTokenTtlS,
      AuthorizationCode: CODE_TTL_S,
      ClientCredentials: settings.oauthAccessTokenTtlS,
      Grant: GRANT_TTL_S,
      IdToken: settings.oauthAccessTokenTtlS,
      Interaction: INTERACTION_TTL_S,
      RefreshToken: settings.oauthRefreshTokenTtlS,
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: false },
      clientCredentials: { enabled: true },
      revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: { enabled: settings.acceptsClientDocuments, ack: CLIENT_DOCUMENT_DRAFT },
      resourceIndicators: {
        enabled: true,
        defaultResource: async (ctx, _client, oneOf) => grantedResource(ctx, oneOf),
        useGrantedResource: async () => true,
        getResourceServerInfo: async (ctx, indicator, client) => {
          requireSingle(ctx);
          const resource = resourceOf(indicator);
          if (ctx.oidc.params?.['grant_type'] === 'client_credentials') {
            await parts.requireOwnResource(resource, client.clientId);
            ctx.oidc.params['scope'] = scopeFor(resource, ctx);
          }
          return {
            scope: resource.scope,
            audience: indicator,
            accessTokenFormat: 'opaque',
            accessTokenTTL: settings.oauthAccessTokenTtlS,
          };
        },
      },
    },
  };
}

/** A token is for exactly one resource, which every request names that starts with nothing granted. */
function grantedResource(ctx: KoaContextWithOIDC, oneOf: readonly string[] | undefined): string[] {
  if (oneOf !== undefined) return [...oneOf];
  const { route, params } = ctx.oidc;
  if (route !== 'authorization' && params?.['grant_type'] !== 'client_credentials') return [];
  throw new errors.InvalidTarget('the parameter "resource" is required');
}

/**
 * The scope of the resource, also for a client that requests none (RFC 6749 §3.3).
 * @throws InvalidScope
 */
function scopeFor({ scope }: RequestedResource, { oidc }: KoaContextWithOIDC): string {
  const requested = oidc.requestParamScopes;
  if (requested.size === 0 || requested.has(scope)) return scope;
  throw new errors.InvalidScope(`the resource has the scope "${scope}" only`, [...requested].join(' '));
}

/** @throws InvalidTarget */
function requireSingle({ oidc }: KoaContextWithOIDC): void {
  const requested = oidc.params?.['resource'];
  if (Array.isArray(requested) && requested.length > 1)
    throw new errors.InvalidTarget('only one resource can be requested');
}

/**
 * Refuses a name that the consent page cannot show as it is: with line breaks, or marks that reverse the text around
 * them.
 * @throws InvalidClientMetadata
 */
function requireShowable({ client_name: name }: { client_name?: string | undefined }): void {
  if (name === undefined || (name.length <= MAX_NAME_LENGTH && !UNSHOWABLE.test(name))) return;
  throw new errors.InvalidClientMetadata(
    `client_name must have at most ${MAX_NAME_LENGTH} characters, without control characters`,
  );
}

/**
 * Takes the keys of a client from its metadata only, because anybody could have the service request any address, and
 * few of them, because each one is tried.
 * @throws InvalidClientMetadata
 */
function requireInlineKeys(metadata: {
  token_endpoint_auth_method?: string | undefined;
  jwks_uri?: string | undefined;
  jwks?: { readonly keys?: unknown } | undefined;
}): void {
  const { token_endpoint_auth_method: method, jwks_uri: address, jwks } = metadata;
  if (method === 'private_key_jwt' && address !== undefined)
    throw new errors.InvalidClientMetadata('jwks_uri is not supported, send jwks');
  if (Array.isArray(jwks?.keys) && jwks.keys.length > MAX_CLIENT_KEYS)
    throw new errors.InvalidClientMetadata(`jwks must have at most ${MAX_CLIENT_KEYS} keys`);
  metadata.jwks_uri = undefined;
}

/**
 * The use of an assertion is remembered until it expires.
 * @throws InvalidClientAuth
 */
function requireShortLived(expiresAt: number): void {
  if (expiresAt <= Date.now() / 1000 + MAX_ASSERTION_LIFETIME_S) return;
  throw new errors.InvalidClientAuth('the client assertion must expire within an hour');
}

/**
 * A native client can mix https, loopback and custom-scheme redirects, and loopback redirects match with any port (RFC
 * 8252 §7.3). Clients such as IDEs declare themselves as web clients although they are native.
 */
function makeNative(metadata: { application_type?: string; scope?: string | undefined }): void {
  metadata.application_type = 'native';
  // The scope of a token follows from its resource. The library knows only the scopes of OpenID Connect here.
  metadata.scope = undefined;
}

/**
 * The library asks native clients for consent every time. Here the redirect decides: an https redirect belongs to its
 * host, so an earlier consent counts; any program can listen on a loopback port or register a custom scheme.
 */
function consentPolicy(): interactionPolicy.DefaultPolicy {
  const { base, Check } = interactionPolicy;
  const policy = base();
  const consent = policy.get('consent');
  if (consent === undefined) throw new Error('oidc-provider has no consent prompt.');
  consent.checks.remove('native_client_prompt');
  consent.checks.add(
    new Check('redirect_needs_consent', 'clients without an https redirect need consent every time', ({ oidc }) =>
      isRemembered(String(oidc.params?.['redirect_uri'] ?? '')) || oidc.result?.['consent'] !== undefined
        ? Check.NO_NEED_TO_PROMPT
        : Check.REQUEST_PROMPT,
    ),
  );
  return policy;
}

/** True if a consent counts for later sign-ins of a client with this redirect. */
export function isRemembered(redirectUri: string): boolean {
  return redirectUri.startsWith('https://');
}
