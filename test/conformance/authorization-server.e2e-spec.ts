import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { follow } from '../identity/oauth/oauth-client.js';
import { addPerson, Browser, newEmail } from '../identity/sign-in/people.js';
import { COMPILED } from '../support/service-process.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { freePort } from '../support/free-port.js';
import { type Checks, readChecks } from './run-suite.js';
import { useStarted } from '../support/use-started.js';

const TIMEOUT_MS = 120_000;
/** Where the suite tells the person to go. */
const AUTHORIZATION_URL = /http:\/\/\S+\/oauth\/authorize\?\S+/;

const service = useStarted(newTenant);
let browser: Browser;

beforeAll(async () => {
  const email = newEmail();
  await addPerson(service, { email, role: 'admin' });
  browser = new Browser(service.url);
  await browser.signIn(email);
});

it('the authorization server passes the official scenarios, the browser included', async () => {
  const port = await freePort();
  const redirect_uris = [`http://127.0.0.1:${port}/callback`];
  const metadata = { client_name: 'Conformance', redirect_uris, token_endpoint_auth_method: 'none' };
  const { body } = await supertest(service.url).post('/oauth/register').send(metadata).expect(201);
  const checks = await runAuthorizationSuite(service, browser, { port, clientId: body.client_id });
  const failures = [...checks].filter(([, { status }]) => status !== 'SUCCESS');
  expect(failures).toEqual([]);
  expect([...checks.keys()].map((name) => name.split(' / ')[1])).toEqual(
    expect.arrayContaining(['authorization-server-metadata', 'authorization-code-grant']),
  );
});

async function runAuthorizationSuite(
  { url }: Tenant,
  person: Browser,
  { port, clientId }: { port: number; clientId: string },
): Promise<Checks> {
  const entry = join(
    dirname(createRequire(import.meta.url).resolve('mcp-conformance-modern/package.json')),
    'dist/index.js',
  );
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-conformance-'));
  try {
    const resource = `${url}/api/${service.org}/mcp/self`;
    const options = [
      '--url',
      url,
      '--client-id',
      clientId,
      '--resource',
      resource,
      '--port',
      String(port),
      '-o',
      folder,
    ];
    const child = spawn(process.execPath, [entry, 'authorization', ...options], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILED },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    let isFollowed = false;
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const [address] = AUTHORIZATION_URL.exec(output) ?? [];
      if (address === undefined || isFollowed) return;
      isFollowed = true;
      const { pathname, search } = new URL(address);
      void follow(person, pathname + search).then((target) => fetch(target));
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (signal !== null) throw new Error(`The suite was not done within ${TIMEOUT_MS} ms: ${output}`);
    return await readChecks(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
