import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { Browser } from '../sign-in/people.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { ServiceProcess } from '../../support/service-process.js';
import { McpOauthClient } from './oauth-client.js';

const OWNER = { email: 'olga@example.com', password: 'correct horse battery staple 7' };
const REDIRECT = 'https://app.example/callback';
const TIMEOUT_MS = 60_000;

let folder: string;
let database: TestDatabase;
let documents: Server;
/** The origin of the metadata documents. */
let origin: string;
let requested: string[];
/** One that may reach private addresses, and one that may not. */
let service: ServiceProcess;
let strict: ServiceProcess;
let urls: { service: string; strict: string };
let browser: Browser;

const ANSWERS: Record<string, (response: ServerResponse, url: string) => void> = {
  '/client.json': (response, url) => response.end(JSON.stringify(documentAt(url))),
  '/other.json': (response) => response.end(JSON.stringify(documentAt(`${origin}/client.json`))),
  '/large.json': (response, url) => response.end(JSON.stringify({ ...documentAt(url), more: 'x'.repeat(70_000) })),
  '/redirect.json': (response) => response.writeHead(302, { location: `${origin}/client.json` }).end(),
  '/rubbish.json': (response) => response.end('<html>'),
  '/secret.json': (response, url) =>
    response.end(JSON.stringify({ ...documentAt(url), client_secret: 'x'.repeat(40) })),
  '/editor.json': (response, url) =>
    response.end(
      JSON.stringify({ ...documentAt(url), grant_types: ['authorization_code', 'urn:example:device_code'] }),
    ),
  '/javascript.json': (response, url) =>
    response.end(JSON.stringify({ ...documentAt(url), redirect_uris: ['javascript:alert(1)'] })),
};

function documentAt(url: string): object {
  return {
    client_id: url,
    client_name: 'Document client',
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-documents-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...subject],
    {
      stdio: 'ignore',
    },
  );
  requested = [];
  documents = createServer({ key: await readFile(key), cert: await readFile(cert) }, (request, response) => {
    requested.push(request.url ?? '');
    response.setHeader('content-type', 'application/json');
    const answer = ANSWERS[request.url?.split('?', 1)[0] ?? ''];
    // Without an answer, the request is left open.
    answer?.(response, origin + request.url);
  }).listen(0, '127.0.0.1');
  await once(documents, 'listening');
  origin = `https://localhost:${(documents.address() as AddressInfo).port}`;
  database = await createTestDatabase();
  const env = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: generateEncryptionKey('test'),
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    NODE_EXTRA_CA_CERTS: cert,
    TRUST_PROXY: '127.0.0.0/8',
  };
  service = new ServiceProcess({ ...env, UPSTREAM_ALLOW_PRIVATE: 'true' });
  urls = { service: (await service.listening()).url, strict: '' };
  strict = new ServiceProcess({ ...env, UPSTREAM_ALLOW_PRIVATE: 'false' });
  const [, strictUrl = ''] = await strict.printed(/listens on (\S+)/);
  urls.strict = strictUrl;
  browser = new Browser(urls.service);
  await browser.signIn(OWNER.email, OWNER.password);
}, TIMEOUT_MS);
afterAll(async () => {
  await service?.kill('SIGTERM');
  await strict?.kill('SIGTERM');
  documents?.closeAllConnections();
  documents?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

/** What the authorization endpoint answers to a client with this document. */
async function authorizeAt(
  url: string,
  clientId: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; location?: string }> {
  const params = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
    resource: `${url}/api/default/mcp/self`,
  });
  const visitor = new Browser(url);
  visitor.headers = headers;
  const answer = await visitor.get(`/oauth/authorize?${params.toString()}`);
  return { status: answer.status, text: answer.text, location: answer.headers['location'] };
}

describe('a client id metadata document', () => {
  it('makes a client known without registration; its consent is remembered', async () => {
    const provider = new McpOauthClient(REDIRECT);
    provider.information = { client_id: `${origin}/client.json` };
    const client = await provider.connect(`${urls.service}/api/default/mcp/self`, browser);
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
    // The second time, the browser comes back without having been asked.
    const again = new McpOauthClient(REDIRECT);
    again.information = { client_id: `${origin}/client.json` };
    await again.connectWith(`${urls.service}/api/default/mcp/self`, async (address) => {
      const { pathname, search } = new URL(address);
      const answer = await browser.get(pathname + search);
      expect(answer.headers['location']).toMatch(/^https:\/\/app\.example\/callback\?code=/);
      return String(answer.headers['location']);
    });
  });

  it.each([
    ['names another client', '/other.json'],
    ['is too large', '/large.json'],
    ['redirects', '/redirect.json'],
    ['is no JSON', '/rubbish.json'],
    ['contains a secret', '/secret.json'],
    ['has a forbidden redirect', '/javascript.json'],
  ])('that %s is refused with a page', async (_what, path) => {
    const answer = await authorizeAt(urls.service, origin + path);
    expect(answer.status).toBe(400);
    expect(answer.location).toBeUndefined();
    expect(answer.text).toContain('This sign-in cannot continue');
  });

  it('can name grant types of other servers', async () => {
    expect((await authorizeAt(urls.service, `${origin}/editor.json`)).location).toMatch(/\/oauth\/interaction\//);
  });

  it('that never arrives is given up', async () => {
    expect((await authorizeAt(urls.service, `${origin}/slow.json`)).status).toBe(400);
  });

  it('is one of 60 in a minute that a source can have fetched', async () => {
    const before = requested.length;
    const from = (source: string, document: number) =>
      authorizeAt(urls.service, `${origin}/rubbish.json?${document}`, { 'x-forwarded-for': source });
    for (let first = 0; first < 80; first += 10) {
      const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => from('198.51.100.1', first + i)));
      expect(answers.every(({ status }) => status === 400)).toBe(true);
    }
    expect(requested.length - before).toBe(60);
    await from('198.51.100.2', 80);
    expect(requested).toContain('/rubbish.json?80');
  });

  it('at a private address is not fetched', async () => {
    const before = requested.length;
    expect((await authorizeAt(urls.strict, `${origin}/client.json`)).status).toBe(400);
    expect(requested).toHaveLength(before);
  });
});
