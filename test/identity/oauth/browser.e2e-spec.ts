import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Browser, Page } from 'playwright-core';
import supertest from 'supertest';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { hasChromium, inBrowser, connectChromium } from '../../support/chromium.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { freePort } from '../../support/free-port.js';
import { type ScriptedServer, legacyServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { ServiceProcess } from '../../support/service-process.js';
import { McpOauthClient } from './oauth-client.js';

const OWNER = { email: 'olga@example.com', password: 'correct horse battery staple 7' };
const TIMEOUT_MS = 120_000;

let database: TestDatabase;
let service: ServiceProcess;
let url: string;
let apiKey: string;
let upstream: ScriptedServer;
let browser: Browser;
/** Where a client waits for the browser. */
let application: Server;
let redirectUrl: string;
let endpoints: Record<'direct' | 'gateway' | 'self', string>;

async function create(kind: string, data: object): Promise<string> {
  const { body } = await supertest(url)
    .post(`/api/default/tools/COLLECTION_${kind}_CREATE`)
    .set('authorization', `Bearer ${apiKey}`)
    .send({ data })
    .expect(200);
  return body.item.id;
}

beforeAll(async () => {
  if (!hasChromium) return;
  const { script } = legacyServer(({ message }, response) => {
    const tools = [{ name: 'fine', inputSchema: { type: 'object' } }];
    sendResult(response, message, message.method === 'tools/list' ? { tools } : { content: [] });
  });
  upstream = await startScripted(script);
  database = await createTestDatabase();
  service = new ServiceProcess({
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: generateEncryptionKey('test'),
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    UPSTREAM_ALLOW_PRIVATE: 'true',
  });
  const announced = await service.listening();
  url = announced.url;
  apiKey = announced.apiKey ?? '';
  const connection_url = upstream.url;
  const connection_id = await create('CONNECTIONS', { title: 'Upstream', connection_type: 'HTTP', connection_url });
  const agentId = await create('VIRTUAL_MCP', { title: 'Agent', connections: [{ connection_id }] });
  endpoints = {
    direct: `${url}/api/default/mcp/${connection_id}`,
    gateway: `${url}/api/default/mcp/gateway/${agentId}`,
    self: `${url}/api/default/mcp/self`,
  };
  application = createServer((_request, response) => response.end('You can close this window.')).listen(0, '127.0.0.1');
  await once(application, 'listening');
  redirectUrl = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`;
  browser = await connectChromium();
}, TIMEOUT_MS);
afterAll(async () => {
  await browser?.close();
  application?.close();
  await service?.kill('SIGTERM');
  await upstream?.close();
  await database?.drop();
});

/** A fresh browser without scripts: the pages do not need them. */
async function newPage(): Promise<Page> {
  return (await browser.newContext({ javaScriptEnabled: false })).newPage();
}

/** What the person does: signs in if asked, and allows the access. Resolves with the address the browser ends at. */
async function allow(page: Page, address: string): Promise<string> {
  await page.goto(address);
  if (page.url().includes('/sign-in')) {
    await page.getByLabel('E-mail address').fill(OWNER.email);
    await page.getByLabel('Password').fill(OWNER.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL((current) => current.origin !== url);
  return page.url();
}

inBrowser.each(['direct', 'gateway', 'self'] as const)('with Chromium, at %s', (name) => {
  it('an unmodified client gets in after sign-in and consent', async () => {
    const page = await newPage();
    const client = await new McpOauthClient(redirectUrl).connectWith(endpoints[name], (address) =>
      allow(page, address),
    );
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names).toContain(name === 'self' ? 'API_KEY_LIST' : 'fine');
    await client.close();
    await page.context().close();
  });
});

inBrowser('mcp-remote from npm', () => {
  it('connects a client over STDIO to the connection', async () => {
    const entry = join(dirname(createRequire(import.meta.url).resolve('mcp-remote/package.json')), 'dist/proxy.js');
    const config = await mkdtemp(join(tmpdir(), 'signalbox-mcp-remote-'));
    const port = String(await freePort());
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [entry, endpoints.direct, port, '--allow-http'],
      // Without a PATH, it cannot open a browser of its own.
      env: { MCP_REMOTE_CONFIG_DIR: config, PATH: '/nonexistent', HOME: config },
      stderr: 'pipe',
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    const address = addressIn(transport);
    const connected = client.connect(transport, { timeout: TIMEOUT_MS });
    const page = await newPage();
    await allow(page, await address);
    await connected;
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(['fine']);
    expect(await client.callTool({ name: 'fine', arguments: {} })).toMatchObject({ content: [] });
    await client.close();
    await page.context().close();
    await rm(config, { recursive: true, force: true });
  });
});

/** The address to which mcp-remote sends the person. */
function addressIn({ stderr }: StdioClientTransport): Promise<string> {
  return new Promise((resolve) => {
    let output = '';
    stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const [address] = /http:\/\/\S+\/oauth\/authorize\?\S+/.exec(output) ?? [];
      if (address !== undefined) resolve(address);
    });
  });
}
