import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { type Configuration, errors, Provider, type TokenEndpointGrantContext } from 'oidc-provider';

type AccessToken = InstanceType<Provider['AccessToken']>;
type ClientCredentials = InstanceType<Provider['ClientCredentials']>;

/** An MCP server that demands OAuth, with its authorization server (oidc-provider, dynamic registration). */
export interface OauthUpstream {
  /** The MCP endpoint. */
  readonly url: string;
  readonly issuer: string;
  /** Who logs in at the authorization server from now on. */
  account: string;
  /** Lifetime of the access tokens that are issued from now on, in seconds. */
  lifetimeS: number;
  /** How many access tokens were issued for a refresh token. */
  refreshes: number;
  /** How many clients have registered. */
  registrations: number;
  /** How many access tokens were issued for an assertion. */
  assertions: number;
  /** The client of each access token that was issued to one for itself. */
  readonly machineTokens: string[];
  /** Each tool call that was done: the account of its token and of the session that it came in. */
  readonly calls: { readonly account: string; readonly sessionAccount: string }[];
  /** The authorization headers of all requests at the MCP endpoint. */
  readonly authorizations: (string | undefined)[];
  /** Changes answers of the authorization server, by path; returns false to leave the answer to the provider. */
  intercept: (request: IncomingMessage, response: ServerResponse, path: string) => boolean;
  /** Ends all grants of an account: its tokens and refresh tokens. */
  revokeAll(account: string): Promise<void>;
  /** Ends the access tokens of an account, and leaves the refresh tokens. */
  endAccessTokens(account: string): void;
  close(): Promise<void>;
}

interface Session {
  readonly account: string;
  readonly transport: StreamableHTTPServerTransport;
}

/** The client that an authorization server which takes assertions knows. */
export const ENTERPRISE_CLIENT = { client_id: 'box-at-upstream', client_secret: 'secret-at-upstream' };
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const MCP_PATH = '/mcp';
const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/**
 * @param toolsOf additional tools, by account
 * @param trusted the issuer whose assertions about people the authorization server takes
 */
export async function startOauthUpstream(
  toolsOf: (account: string) => string[] = () => [],
  trusted?: string,
): Promise<OauthUpstream> {
  const front = createServer();
  const origin = await listen(front);
  const upstream: OauthUpstream = {
    url: `${origin}${MCP_PATH}`,
    issuer: origin,
    account: 'alice',
    lifetimeS: 3600,
    refreshes: 0,
    registrations: 0,
    assertions: 0,
    machineTokens: [],
    calls: [],
    authorizations: [],
    intercept: () => false,
    revokeAll: async (account) => {
      for (const grant of grants.get(account) ?? []) {
        await provider.RefreshToken.revokeByGrantId(grant);
        await provider.AccessToken.revokeByGrantId(grant);
      }
      grants.delete(account);
    },
    endAccessTokens: (account) => {
      for (const [token, owner] of issued) if (owner === account) ended.add(token);
    },
    close: async () => {
      for (const { transport } of sessions.values()) await transport.close();
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    },
  };
  const grants = new Map<string, string[]>();
  const issued = new Map<string, string>();
  const ended = new Set<string>();
  const sessions = new Map<string, Session>();
  const clients = [{ ...ENTERPRISE_CLIENT, redirect_uris: [], response_types: [], grant_types: [JWT_BEARER] }];
  const provider = new Provider(origin, { ...configuration(upstream), ...(trusted !== undefined && { clients }) });
  if (trusted !== undefined) takeAssertions(provider, upstream, trusted);
  provider.on('access_token.saved', ({ jti, accountId, gty }: { jti: string; accountId: string; gty: string }) => {
    issued.set(jti, accountId);
    if (gty.includes('refresh_token')) upstream.refreshes++;
  });
  provider.on(
    'client_credentials.saved' as 'server_error',
    (({ jti, clientId }: { jti: string; clientId: string }) => {
      issued.set(jti, clientId);
      upstream.machineTokens.push(clientId);
    }) as never,
  );
  provider.on(
    'grant.saved' as 'server_error',
    ((grant: { jti: string; accountId: string }) => {
      grants.set(grant.accountId, [...(grants.get(grant.accountId) ?? []), grant.jti]);
    }) as never,
  );
  provider.on('registration_create.success', () => upstream.registrations++);
  const handleProvider = provider.callback();

  async function serveMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    upstream.authorizations.push(request.headers.authorization);
    const token = request.headers.authorization?.replace(/^Bearer /, '');
    const found = token === undefined ? undefined : await findToken(provider, token);
    const account = found !== undefined && !ended.has(found.jti) && found.aud === upstream.url ? ownerOf(found) : '';
    if (account === '') {
      await text(request);
      const challenge = `Bearer resource_metadata="${origin}${METADATA_PATH}", scope="tools"`;
      response.writeHead(401, { 'www-authenticate': challenge, 'content-type': 'application/json' }).end('{}');
      return;
    }
    const id = request.headers['mcp-session-id'];
    let session = typeof id === 'string' ? sessions.get(id) : undefined;
    if (session === undefined && id !== undefined) {
      response.writeHead(404).end();
      return;
    }
    session ??= await openSession(account);
    caller.set(session.transport, account);
    await session.transport.handleRequest(request, response);
  }

  const caller = new Map<StreamableHTTPServerTransport, string>();
  async function openSession(account: string): Promise<Session> {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, session),
    });
    const session = { account, transport };
    const server = new Server({ name: 'oauth-upstream', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: ['whoami', 'fails_with_401', ...toolsOf(account)].map((name) => ({
        name,
        inputSchema: { type: 'object' as const },
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, ({ params: { name } }) => {
      const current = caller.get(transport) ?? '';
      if (name === 'fails_with_401') return { isError: true, content: [{ type: 'text', text: '401 Unauthorized' }] };
      upstream.calls.push({ account: current, sessionAccount: account });
      return { content: [{ type: 'text', text: name === 'whoami' ? current : `${name} for ${current}` }] };
    });
    await server.connect(transport as never);
    return session;
  }

  front.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? '', origin).pathname;
    if (upstream.intercept(request, response, path)) return;
    if (path === MCP_PATH) void serveMcp(request, response);
    else if (path === METADATA_PATH) {
      const document = { resource: upstream.url, authorization_servers: [origin], scopes_supported: ['tools'] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    } else if (path.startsWith('/interaction/')) void finishInteraction(provider, upstream, request, response);
    else void handleProvider(request, response);
  });
  return upstream;
}

async function findToken(provider: Provider, token: string): Promise<AccessToken | ClientCredentials | undefined> {
  return (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
}

function ownerOf(token: AccessToken | ClientCredentials): string {
  return String('accountId' in token ? token.accountId : token.clientId);
}

/** A client with an account of its own, which has the name of the client. */
export interface Machine {
  readonly client_id: string;
  readonly client_secret: string;
}

/** @param more metadata, for a client that has a key in place of the secret */
export async function registerMachine({ issuer }: OauthUpstream, more: object = {}): Promise<Machine> {
  const metadata = { redirect_uris: [], response_types: [], grant_types: ['client_credentials'], ...more };
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${issuer}/reg`, { method: 'POST', headers, body: JSON.stringify(metadata) });
  const { client_id, client_secret } = (await answer.json()) as Machine;
  return { client_id, client_secret };
}

/** Adds the grant of enterprise-managed authorization. The accounts are the subjects of the issuer. */
function takeAssertions(provider: Provider, upstream: OauthUpstream, trusted: string): void {
  const keys = createRemoteJWKSet(new URL(`${trusted}/jwks`));
  const exchange = async (ctx: TokenEndpointGrantContext<{ assertion?: unknown }>): Promise<void> => {
    const { client, params } = ctx.oidc;
    const checks = { issuer: trusted, audience: upstream.issuer, typ: 'oauth-id-jag+jwt' };
    const { payload } = await jwtVerify(String(params.assertion), keys, checks).catch(() => {
      throw new errors.InvalidGrant('the assertion is not valid');
    });
    if (payload['client_id'] !== client.clientId || payload['resource'] !== upstream.url) {
      throw new errors.InvalidGrant('the assertion is for something else');
    }
    const accountId = String(payload.sub);
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    grant.addResourceScope(upstream.url, 'tools');
    const details = { accountId, client, grantId: await grant.save(), gty: 'jwt_bearer', scope: 'tools' };
    const token = new provider.AccessToken({ ...details, aud: upstream.url } as never);
    ctx.body = { access_token: await token.save(), token_type: 'Bearer', expires_in: token.expiration, scope: 'tools' };
    upstream.assertions++;
  };
  provider.registerGrantType(JWT_BEARER, exchange, ['assertion', 'resource', 'scope']);
}

/** The person logs in and agrees to everything. */
async function finishInteraction(
  provider: Provider,
  { account, url }: OauthUpstream,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: account } });
    return;
  }
  const grant = new provider.Grant({ accountId: session?.accountId ?? account, clientId: String(params['client_id']) });
  grant.addOIDCScope('openid offline_access tools');
  grant.addResourceScope(url, 'tools');
  const grantId = await grant.save();
  await provider.interactionFinished(request, response, { consent: { grantId } });
}

function configuration(upstream: OauthUpstream): Configuration {
  return {
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    clientDefaults: { id_token_signed_response_alg: 'RS256' },
    cookies: { keys: ['a key for the tests only'] },
    scopes: ['openid', 'offline_access', 'tools'],
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    ttl: {
      AccessToken: () => upstream.lifetimeS,
      ClientCredentials: () => upstream.lifetimeS,
      RefreshToken: 86_400,
      Grant: 86_400,
      Interaction: 600,
      Session: 86_400,
      IdToken: 3600,
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => upstream.url,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'tools', audience: upstream.url, accessTokenFormat: 'opaque' }),
      },
    },
  };
}

async function listen(server: HttpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
