import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestService, type TestService } from '../../support/service.js';

const METADATA = JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'], token_endpoint_auth_method: 'none' });

let service: TestService;
let second: TestService;
let sources = 0;

beforeAll(async () => {
  const env = { TRUST_PROXY: '127.0.0.0/8' };
  service = await startTestService({ env });
  second = await startTestService({ env, database: service.database });
});
afterAll(async () => {
  await second?.close();
  await service?.close();
});

/** An address that no other test uses. */
function newSource(): string {
  return `198.51.100.${++sources}`;
}

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  text: string;
}

/** Sends a request line as it is, which may contain an absolute address. */
function send(method: string, target: string, { source = newSource(), body = '', url = service.url }): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-forwarded-for': source,
    };
    request({ hostname, port, method, path: target, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    })
      .on('error', reject)
      .end(body);
  });
}

function register(source: string, target = '/oauth/register', url = service.url): Promise<Answer> {
  return send('POST', target, { source, body: METADATA, url });
}

/** Registers clients, `atOnce` at a time, in turn at both processes; returns how many answers had each status. */
async function registerMany(source: string, count: number, atOnce: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  let sent = 0;
  const sendInTurn = async (): Promise<void> => {
    while (sent < count) {
      const { status } = await register(source, '/oauth/register', sent++ % 2 === 0 ? service.url : second.url);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sendInTurn));
  return statuses;
}

describe('of 200 registrations from one source', () => {
  it('100 are accepted, one after the other', async () => {
    expect(await registerMany(newSource(), 200, 1)).toEqual({ 201: 100, 429: 100 });
  });

  it('100 are accepted, all at once at two processes', async () => {
    expect(await registerMany(newSource(), 200, 100)).toEqual({ 201: 100, 429: 100 });
  });
});

describe('a source that has registered 100 clients', () => {
  let source: string;

  beforeAll(async () => {
    source = newSource();
    expect(await registerMany(source, 100, 10)).toEqual({ 201: 100 });
  });

  it('is told when to try again, in JSON that a web page can read', async () => {
    const { status, headers, text } = await register(source);
    expect(status).toBe(429);
    expect(headers).toMatchObject({ 'retry-after': '3600', 'access-control-allow-origin': '*' });
    expect(JSON.parse(text)).toMatchObject({ error: 'too_many_requests' });
  });

  it.each(['http://other.example/oauth/register', '/oauth/register?a=b'])(
    'cannot get around the limit with the target %s',
    async (target) => {
      expect((await register(source, target)).status).toBe(429);
    },
  );

  it('does not stop others', async () => {
    expect((await register(newSource())).status).toBe(201);
  });

  it('still gets its preflights answered', async () => {
    expect((await send('OPTIONS', '/oauth/register', { source })).status).not.toBe(429);
  });
});

it('the addresses of one IPv6 network are one source', async () => {
  for (let i = 0; i < 100; i++) expect((await register(`2001:db8:7:7::${i.toString(16)}`)).status).toBe(201);
  expect((await register('2001:db8:7:7:ffff:ffff:ffff:ffff')).status).toBe(429);
  expect((await register('2001:db8:7:8::1')).status).toBe(201);
});

it('sign-ins that a source has begun are limited to 1,000 an hour', async () => {
  const source = newSource();
  const { client_id: id } = JSON.parse((await register(source)).text) as { client_id: string };
  const target = `/oauth/authorize?${new URLSearchParams({
    client_id: id,
    response_type: 'code',
    redirect_uri: 'http://127.0.0.1/callback',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
    resource: `${service.url}/api/default`,
  }).toString()}`;
  const begin = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) expect((await send('GET', target, { source })).status).toBe(303);
  };
  await Promise.all(Array.from({ length: 10 }, begin));
  const refused = await send('GET', target, { source });
  expect(refused.status).toBe(429);
  expect(refused.headers['retry-after']).toBe('3600');
  expect((await send('GET', target, {})).status).toBe(303);
});
