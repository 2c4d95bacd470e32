import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';
import { type ProxiedUpstream, startProxiedUpstream } from '../../support/proxied-upstream.js';
import { newTenant } from '../../support/tenant.js';
import { McpOauthClient } from './oauth-client.js';

let upstream: ProxiedUpstream;
let browser: Browser;
let email: string;

beforeAll(async () => {
  upstream = await startProxiedUpstream(newTenant);
  email = newEmail();
  await addPerson(upstream.app, { email, name: 'Olga', role: 'admin' });
  browser = new Browser(upstream.app.url);
  await browser.signIn(email);
});
afterAll(() => upstream?.close());

describe('an MCP client that knows only the address', () => {
  it('registers, sends the person through the consent, and calls a tool', async () => {
    const endpoint = upstream.app.url + (await upstream.connected());
    const client = await new McpOauthClient().connect(endpoint, browser);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['fine']);
    expect(await client.callTool({ name: 'fine', arguments: {} })).toMatchObject({ content: [{ text: 'fine' }] });
    await client.close();
  });

  it('uses the management tools at `self`', async () => {
    const client = await new McpOauthClient().connect(`${upstream.app.url}/api/${upstream.app.org}/mcp/self`, browser);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('API_KEY_CREATE');
    await client.close();
  });

  it('cannot reset the password of the person who signed in, which would outlive the grant', async () => {
    const client = await new McpOauthClient().connect(`${upstream.app.url}/api/${upstream.app.org}/mcp/self`, browser);
    const members = await upstream.app.tool('MEMBER_LIST').expect(200);
    const { id } = members.body.items.find((item: { email: string }) => item.email === email);
    const { isError, content } = await client.callTool({ name: 'MEMBER_RESET', arguments: { id } });
    expect({ isError, text: JSON.stringify(content) }).toEqual({
      isError: true,
      text: expect.stringContaining('permission_widening'),
    });
    await client.close();
  });
});
