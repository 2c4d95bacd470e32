import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { type ProxiedUpstream, startProxiedUpstream } from '../../support/proxied-upstream.js';
import { connectTo } from '../../support/proxy-connections.js';
import { newTenant } from '../../support/tenant.js';
import { follow, McpOauthClient } from './oauth-client.js';

let upstream: ProxiedUpstream;
let browser: Browser;
let endpoints: Record<'direct' | 'gateway' | 'self', string>;

beforeAll(async () => {
  upstream = await startProxiedUpstream(newTenant);
  const { app } = upstream;
  const email = newEmail();
  await addPerson(app, { email, name: 'Olga', role: 'admin' });
  browser = new Browser(app.url);
  await browser.signIn(email);
  const connectionId = await connectTo(app, upstream.upstream.url);
  endpoints = {
    direct: `${app.url}/api/${upstream.app.org}/mcp/${connectionId}`,
    gateway: app.url + gatewayPath(app, await agentOf(app, [connectionId])),
    self: `${app.url}/api/${upstream.app.org}/mcp/self`,
  };
});
afterAll(() => upstream?.close());

/** The client of the stable line, with the same provider of state. */
async function connectModern(endpoint: string, provider: McpOauthClient): Promise<Client> {
  const open = async (): Promise<[Client, StreamableHTTPClientTransport]> => {
    const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: provider as never });
    return [new Client({ name: 'test', version: '1' }), transport];
  };
  const [first, transport] = await open();
  try {
    await first.connect(transport);
    return first;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  const { searchParams } = new URL(await provider.redirect(browser));
  await transport.finishAuth(searchParams);
  const [client, authorized] = await open();
  await client.connect(authorized);
  return client;
}

describe.each(['direct', 'gateway', 'self'] as const)('an unmodified client at %s', (name) => {
  const expected = (): string => (name === 'self' ? 'API_KEY_LIST' : 'fine');

  it('SDK 1.32 registers, signs in and lists tools', async () => {
    const client = await new McpOauthClient().connect(endpoints[name], browser);
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain(expected());
    await client.close();
  });

  it('client 2.4 registers, signs in and lists tools', async () => {
    const client = await connectModern(endpoints[name], new McpOauthClient());
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain(expected());
    await client.close();
  });

  it('that was set up by hand signs in and lists tools', async () => {
    const redirect = 'http://localhost:9911/done';
    const created = await upstream.app
      .tool('OAUTH_CLIENT_CREATE', { name: 'By hand', redirect_uris: [redirect] })
      .expect(200);
    const provider = new McpOauthClient(redirect);
    provider.information = { client_id: created.body.item.client_id };
    const client = await provider.connect(endpoints[name], browser);
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain(expected());
    await client.close();
    await upstream.app.tool('OAUTH_CLIENT_DELETE', { id: created.body.item.id }).expect(200);
    await expect(
      new McpOauthClient(redirect).connect(endpoints[name], new Browser(upstream.app.url)),
    ).rejects.toThrow();
  });
});

/** Follows the redirects from an interaction to its consent page; resolves with the address of that page. */
async function consentPageOf(browser: Browser, interaction: string): Promise<string> {
  let path = interaction;
  let response = await browser.get(path);
  while (response.headers.location !== undefined) {
    const { pathname, search } = new URL(response.headers.location, browser.url);
    path = pathname + search;
    response = await browser.get(path);
  }
  expect(response.text).toContain('name="decision"');
  return path;
}

describe('several clients of one person', () => {
  it('sign in at the same time without disturbing each other', async () => {
    const clients = await Promise.all(
      Object.values(endpoints).map((endpoint) => new McpOauthClient().connect(endpoint, browser)),
    );
    for (const client of clients) {
      expect((await client.listTools()).tools.length).toBeGreaterThan(0);
      await client.close();
    }
  });

  it('can wait on the sign-in page together, and continue with one sign-in', async () => {
    const email = newEmail();
    await addPerson(upstream.app, { email, role: 'admin' });
    const another = new Browser(upstream.app.url);
    const waiting = await Promise.all(
      Object.values(endpoints).map(async (endpoint) => {
        const provider = new McpOauthClient();
        await auth(provider, { serverUrl: endpoint });
        const { pathname, search } = provider.authorizationUrl ?? new URL(endpoint);
        const interaction = (await another.get(pathname + search)).headers.location ?? '';
        const signIn = (await another.get(interaction)).headers.location ?? '';
        expect(signIn).toContain('/sign-in?');
        return { endpoint, provider, interaction, signIn };
      }),
    );
    await another.signIn(email, undefined, waiting[0]?.signIn);
    const consents = await Promise.all(waiting.map(({ interaction }) => consentPageOf(another, interaction)));
    // A second sign-in replaces the browser session. The consent pages that are open stay valid.
    await another.submit('/sign-in', {}); // Signs out: a signed-in person finds nothing else there.
    await another.signIn(email);
    for (const [index, { endpoint, provider }] of waiting.entries()) {
      const code = new URL(await follow(another, consents[index] ?? '')).searchParams.get('code');
      await auth(provider, { serverUrl: endpoint, authorizationCode: code ?? '' });
      expect(provider.stored?.access_token).toMatch(/^sbo_/);
    }
  });
});

describe('an access token that expires', () => {
  it('is refreshed by the client in the middle of its session', async () => {
    const provider = new McpOauthClient();
    const client = await provider.connect(endpoints.direct, browser);
    const before = provider.stored?.access_token;
    // What the client does when its token has expired: the server refuses it.
    if (provider.stored !== undefined) provider.stored = { ...provider.stored, access_token: `sbo_${'x'.repeat(43)}` };
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(['fine']);
    expect(provider.stored?.access_token).not.toBe(before);
    await client.close();
  });
});
