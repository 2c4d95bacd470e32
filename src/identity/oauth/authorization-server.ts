import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest, FastifyInstance } from 'fastify';
import { type KoaContextWithOIDC, Provider, type Session } from 'oidc-provider';
import { AppConfig } from '../../core/config/app-config.js';
import { publicOriginOf } from '../../core/config/public-origin.js';
import { networkOf } from '../../core/network-of.js';
import { html } from '../../platform/pages/html.js';
import { sendPage } from '../../platform/pages/send-page.js';
import { BrowserSessions } from '../browser-sessions/browser-sessions.js';
import { ClientDocumentFetch } from './client-document-fetch.js';
import { Consents } from './consents.js';
import { EnterpriseGrants } from './enterprise-grants.js';
import { MachineClients, parseResource } from './oauth-resources.js';
import { renderOauthError, answerOutages } from './oauth-errors.js';
import { MAX_PER_HOUR, OauthAdapter, TOO_MANY_REGISTRATIONS } from './oauth-adapter.js';
import { OAUTH_TOKEN_PREFIX } from './access-token.verifier.js';
import { OAUTH_PATHS, providerConfiguration } from './provider-configuration.js';
import { OauthRecordsRepository } from './records/oauth-records.repository.js';
import { type PrivateJwk, SigningKeys } from './signing-keys.js';
import type { SignedInUser } from '../browser-sessions/browser-session.repository.js';
import { addOnRequest } from '../auth/early-admission.js';

/** After this time a process notices that another one has rotated the signing keys. */
const KEYS_FRESH_MS = 30_000;

/** Routes that store something for callers without a credential, with its model. */
const LIMITED: Readonly<Record<string, keyof typeof MAX_PER_HOUR>> = {
  [OAUTH_PATHS.register]: 'Client',
  [OAUTH_PATHS.authorize]: 'Interaction',
};
const RETRY_AFTER_S = '3600';
/** draft-ietf-oauth-identity-assertion-authz-grant, "Authorization Server Metadata". */
const ID_JAG_METADATA = 'authorization_grant_profiles_supported';

interface StartedProvider {
  readonly provider: Provider;
  readonly keyId: string | undefined;
}

/**
 * The OAuth 2.1 authorization server. It answers for the origin under which it was reached (`publicOriginOf`), so there
 * is one `oidc-provider` for each name of the loopback interface; all of them share their state.
 */
@Injectable()
export class AuthorizationServer {
  private readonly logger = new Logger(AuthorizationServer.name);
  private readonly providers = new Map<string, Promise<StartedProvider>>();
  private keys: { readonly all: Promise<readonly PrivateJwk[]>; readonly readAt: number } | undefined;
  /** The requests as Fastify sees them. */
  private readonly requests = new WeakMap<IncomingMessage, FastifyRequest>();

  constructor(
    private readonly config: AppConfig,
    private readonly signingKeys: SigningKeys,
    private readonly records: OauthRecordsRepository,
    private readonly consents: Consents,
    private readonly sessions: BrowserSessions,
    private readonly documents: ClientDocumentFetch,
    private readonly machines: MachineClients,
    private readonly enterprise: EnterpriseGrants,
  ) {}

  /** Answers a request to one of its endpoints. */
  async answerRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { raw } = request;
    if (await this.hasReachedLimit(request)) return refuse(request, reply);
    const origin = this.originOf(request);
    const { provider } = await this.providerFor(origin);
    this.requests.set(raw, request);
    addDefaultScope(raw, origin);
    presentAs(raw, origin);
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    reply.hijack();
    await provider.callback()(raw, reply.raw);
  }

  /** The provider that answers for the origin of this request, for its interactions. */
  async providerOf(request: FastifyRequest): Promise<Provider> {
    const origin = this.originOf(request);
    presentAs(request.raw, origin);
    return (await this.providerFor(origin)).provider;
  }

  /** Whether the network of the caller has registered too many clients, or begun too many sign-ins: each is stored. */
  private async hasReachedLimit({ method, routeOptions, ip }: FastifyRequest): Promise<boolean> {
    const model = method === 'OPTIONS' ? undefined : LIMITED[routeOptions.url ?? ''];
    return model !== undefined && (await this.records.countOfSource(model, networkOf(ip))) >= MAX_PER_HOUR[model];
  }

  private originOf({ headers }: FastifyRequest): string {
    return publicOriginOf(this.config, headers.host);
  }

  private async providerFor(origin: string): Promise<StartedProvider> {
    const keys = await this.currentKeys();
    const known = await this.providers.get(origin);
    if (known?.keyId !== undefined && known.keyId === keys[0]?.kid) return known;
    const starting = Promise.resolve(this.start(origin, keys));
    this.providers.set(origin, starting);
    return starting;
  }

  private currentKeys(): Promise<readonly PrivateJwk[]> {
    const now = performance.now();
    if (this.keys === undefined || now - this.keys.readAt > KEYS_FRESH_MS) {
      const all = this.signingKeys.all();
      this.keys = { all, readAt: now };
      all.catch(() => (this.keys = undefined));
    }
    return this.keys.all;
  }

  private start(origin: string, signingKeys: readonly PrivateJwk[]): StartedProvider {
    const adapter = (model: string): OauthAdapter => new OauthAdapter(model, this.records, () => this.currentSource());
    const provider = new Provider(
      origin,
      providerConfiguration(origin, this.config.settings, {
        adapter,
        findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
        loadExistingGrant: async (ctx) => (await this.consents.findGiven(ctx)) ?? this.consents.grantAgain(ctx, origin),
        renderError: renderOauthError,
        requireOwnResource: (resource, clientId) => this.machines.requireOwn(resource, clientId),
        fetch: (url, options) => this.documents.fetchDocument(url, options, this.currentSource()),
        signingKeys,
        cookieKeys: signingKeys.map(cookieKeyOf),
      }),
    );
    // `presentAs` sets the headers; those of the caller never get here.
    provider.proxy = true;
    markTokens(provider);
    useBrowserSessions(provider, async (raw) => {
      const request = this.requests.get(raw);
      return request && this.sessions.userOf(request);
    });
    this.enterprise.registerOn(provider);
    provider.use((ctx, next) => next().then(() => completeMetadata(ctx, this.enterprise)));
    answerOutages(provider, (error) => this.logger.error(error));
    return { provider, keyId: signingKeys[0]?.kid };
  }

  /** The network that sent the request under way; undefined outside of the library's requests. */
  private currentSource(): string | undefined {
    const raw = Provider.ctx?.req;
    const request = raw && this.requests.get(raw);
    return request && networkOf(request.ip);
  }
}

/** Gives access and refresh tokens the prefix by which logs and the guard recognize them. */
function markTokens({ AccessToken, ClientCredentials, RefreshToken }: Provider): void {
  for (const { prototype } of [AccessToken, ClientCredentials, RefreshToken] as unknown as {
    prototype: { generateTokenId(): string };
  }[]) {
    const generate = prototype.generateTokenId;
    prototype.generateTokenId = function (this: unknown): string {
      return OAUTH_TOKEN_PREFIX + generate.call(this);
    };
  }
}

/** The library's metadata document names only the scopes of OpenID Connect, and no profiles of grants. */
function completeMetadata(
  { path, status, body }: Pick<KoaContextWithOIDC, 'path' | 'status' | 'body'>,
  { isOffered }: EnterpriseGrants,
): void {
  if (!path.startsWith('/.well-known/') || status !== 200) return;
  const document = body as { scopes_supported?: readonly string[]; [ID_JAG_METADATA]?: readonly string[] };
  document.scopes_supported = [...(document.scopes_supported ?? []), 'mcp', 'api'];
  if (isOffered) document[ID_JAG_METADATA] = ['urn:ietf:params:oauth:grant-profile:id-jag'];
}

/** Makes Koa see the origin that the caller sees, whatever stands between them. */
function presentAs({ headers }: IncomingMessage, origin: string): void {
  const { host, protocol } = new URL(origin);
  headers['x-forwarded-host'] = host;
  headers['x-forwarded-proto'] = protocol.slice(0, -1);
}

/** A client that requests no scope gets the scope of its resource (RFC 6749 §3.3). */
function addDefaultScope(raw: IncomingMessage, origin: string): void {
  const url = URL.parse(raw.url ?? '', origin);
  if (url?.pathname !== OAUTH_PATHS.authorize || url.searchParams.has('scope')) return;
  const resource = parseResource(url.searchParams.get('resource') ?? '', origin);
  if (resource === undefined) return;
  url.searchParams.set('scope', resource.scope);
  raw.url = url.pathname + url.search;
}

function cookieKeyOf({ d = '' }: PrivateJwk): string {
  return createHmac('sha256', d).update('oauth cookies').digest('base64url');
}

/** Refuses before the body is read: a registration as RFC 7591 says, a sign-in with a page. */
function refuse({ routeOptions }: FastifyRequest, reply: FastifyReply): void {
  void reply.header('retry-after', RETRY_AFTER_S);
  if (routeOptions.url === OAUTH_PATHS.authorize) {
    const body = html`<p>Too many sign-ins were started from this network. Try again later.</p>`;
    return sendPage(reply, { title: 'This sign-in cannot continue', status: 429, body });
  }
  void reply
    .status(429)
    .header('access-control-allow-origin', '*')
    .send({ error: 'too_many_requests', error_description: TOO_MANY_REGISTRATIONS });
}

/** Finds the person who is signed in with the browser that sent a request. */
type UserOf = (request: IncomingMessage) => Promise<SignedInUser | undefined>;

/**
 * Makes the library's session a view of the browser session of the service: no record and no cookie of its own. The
 * library replaces the cookie with every authorization, so that of several clients that sign in at the same time only
 * the last would get its code. The session is identified by the person: an authorization request continues after the
 * person has signed in again.
 */
function useBrowserSessions(provider: Provider, userOf: UserOf): void {
  const { Session: Model } = provider;
  Model.get = async (ctx) => {
    const user = await userOf(ctx.req);
    const session = user === undefined ? new Model() : sessionOf(Model, user.id, user.signedInAt);
    // The library neither stores a destroyed session nor sends a cookie for it.
    Object.defineProperty(session, 'destroyed', { value: true });
    (ctx as typeof ctx & { oidc: { entity(name: string, value: Session): void } }).oidc.entity('Session', session);
    return session;
  };
  Model.findByUid = async (userId) => sessionOf(Model, userId);
  // Only the sign-in of the service signs in: the result of an interaction cannot.
  Object.defineProperty(Model.prototype, 'loginAccount', { value: () => undefined });
}

function sessionOf(Model: typeof Session, userId: string, signedInAt?: Date): Session {
  const loginTs = signedInAt && { loginTs: Math.floor(signedInAt.getTime() / 1000) };
  return Object.assign(new Model(), { uid: userId, accountId: userId, ...loginTs });
}

/**
 * Hands requests to the authorization server before their bodies are read, because the library reads them from the
 * socket.
 */
@Injectable()
export class OauthRoutes {
  constructor(private readonly server: AuthorizationServer) {}

  /** Call before Nest registers its routes. */
  serveOn(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', (route) => {
      if (route.config?.isOauth !== true) return;
      addOnRequest(route, (request, reply, done) => {
        // Fastify runs no further hook for a reply that is answered elsewhere.
        const onError = (error: Error): void => done(error);
        this.server.answerRequest(request, reply).then(undefined, onError);
      });
    });
  }
}
