import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Controller, Module, Post } from '@nestjs/common';
import { ApiKeyRepository } from '../../src/api-keys/api-key.repository.js';
import { Authenticator } from '../../src/auth/authenticator.js';
import { Access } from '../../src/common/access.js';
import { generateApiKey } from '../../src/common/api-key-value.js';
import { CallerResolver } from '../../src/mcp/http/caller-resolver.js';
import { HealthService } from '../../src/health/health.service.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { connectTo, until } from '../support/proxy-connections.js';
import { rpc } from '../support/proxy-calls.js';
import { RawConnection, requestText } from '../support/raw-http.js';
import { legacyServer, sendResult } from '../support/scripted-upstream.js';
import { Upstreams } from '../support/upstreams.js';

const MEBIBYTE = 1_048_576;
const JSON_TYPE = { 'content-type': 'application/json' };
const HEADERS_TIMEOUT_MS = 500;
const REQUEST_TIMEOUT_MS = 1_000;
const MAX_STRANGERS = 64;
const ENV = {
  HEADERS_TIMEOUT_MS: String(HEADERS_TIMEOUT_MS),
  REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
  MAX_STRANGER_CONNECTIONS: String(MAX_STRANGERS),
};

@Controller('extension/:org')
class ExtensionController {
  @Post('echo')
  @Access('organization')
  echo(): { ok: true } {
    return { ok: true };
  }
}

@Module({ controllers: [ExtensionController] })
class ExtensionModule {}

let app: TestApp;
let publicId: string;
const upstreams = new Upstreams();
const open: RawConnection[] = [];

beforeAll(async () => {
  app = await startTestApp({ env: ENV, modules: [ExtensionModule] });
  const { script } = legacyServer((request, response) => {
    const { message } = request;
    if (message.method === 'tools/call') return sendResult(response, message, { content: [] });
    const tool = { name: 'open', inputSchema: { type: 'object' }, _meta: { 'mcp.service': { public_tool: true } } };
    return sendResult(response, message, { tools: [tool] });
  });
  publicId = await connectTo(app, (await upstreams.scripted(script)).url);
});
afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
});
afterAll(async () => {
  await app?.close();
  await upstreams.close();
});

async function connection(from?: string): Promise<RawConnection> {
  const opened = await RawConnection.open(app.url, from);
  open.push(opened);
  return opened;
}

async function send(text: string): Promise<RawConnection> {
  const opened = await connection();
  opened.send(text);
  return opened;
}

const bearer = (key = app.apiKey) => ({ authorization: `Bearer ${key}` });
const ENDPOINTS = () => [
  ['a management tool', '/api/default/tools/API_KEY_LIST'],
  ['a run', '/api/default/agent-runtime/threads/t/messages'],
  ['an MCP endpoint', `/api/default/mcp/${randomUUID()}`],
  ['an agent', `/api/default/mcp/gateway/${randomUUID()}`],
  ['the legacy path', `/mcp/${randomUUID()}`],
  ['a streamed tool', `/api/default/mcp/${randomUUID()}/call-tool/echo`],
  ['the own MCP server', '/api/default/mcp/self'],
  ['the route of another module', '/extension/default/echo'],
];

describe('a body that never arrives', () => {
  const unfinished = (path: string, headers: object = {}): string =>
    requestText('POST', path, { ...JSON_TYPE, 'content-length': MEBIBYTE, ...headers }, '{"a":');

  it.each(ENDPOINTS())('is not awaited without a credential: %s', async (_endpoint, path) => {
    const answer = await (await send(unfinished(path))).closed();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toMatch(/\r\nwww-authenticate: Bearer /i);
    expect(answer).toContain('credential_missing');
  });

  it.each(ENDPOINTS())('is not awaited with an unknown key: %s', async (_endpoint, path) => {
    const answer = await (await send(unfinished(path, bearer(generateApiKey())))).closed();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain('credential_invalid');
  });

  it.each(ENDPOINTS().filter(([, path = '']) => path.includes('/default')))(
    'is not awaited for a foreign organization: %s',
    async (_endpoint, path = '') => {
      const answer = await (await send(unfinished(path.replace('/default', '/foreign'), bearer()))).closed();
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
      expect(answer).toContain('organization_mismatch');
    },
  );

  it.each([
    ['an unknown route', 'POST', '/nowhere'],
    ['an unsupported method', 'PUT', '/api/default/tools/API_KEY_LIST'],
    ['an empty parameter', 'POST', '/api//mcp/self'],
    ['a probe', 'GET', '/health/live'],
  ])('is not awaited for %s', async (_what, method, path) => {
    const text = requestText(method, path, { ...JSON_TYPE, ...bearer(), 'content-length': MEBIBYTE }, '{');
    const answer = await (await send(text)).closed();
    expect(answer).toMatch(method === 'GET' ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 404 /);
  });

  it('is not awaited with chunked encoding', async () => {
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
    const answer = await (await send(requestText('POST', '/api/default/mcp/self', headers, '1\r\n{\r\n'))).closed();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('is awaited with a valid key, up to a time limit', async () => {
    const slow = await send(unfinished('/api/default/tools/API_KEY_LIST', bearer()));
    // A slow trickle does not extend the time limit.
    const trickle = setInterval(() => slow.send(' '), HEADERS_TIMEOUT_MS / 5);
    try {
      const answer = await slow.closed();
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(answer).toContain('"code":"request_timeout"');
    } finally {
      clearInterval(trickle);
    }
  });
});

describe('a response before the end of the body', () => {
  it('reaches a client that sends the whole body', async () => {
    const call = (): Promise<Response> =>
      fetch(`${app.url}/api/default/tools/API_KEY_LIST`, {
        method: 'POST',
        headers: { ...JSON_TYPE, ...bearer('sbx_wrong') },
        body: `{"a":"${'a'.repeat(MEBIBYTE - 8)}"}`,
      });
    for (let i = 0; i < 10; i++) {
      const answer = await call();
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([401, 'credential_invalid']);
    }
  });

  it('keeps the connection open if the body is small', async () => {
    const refused = requestText('POST', '/api/default/mcp/self', { ...JSON_TYPE, 'content-length': 2 }, '{}');
    const answered = requestText('GET', '/health/live');
    const client = await send(refused);
    await client.until(/credential_missing/);
    client.send(answered);
    await client.until(/"status":"ok"/);
    expect(client.statuses).toEqual([401, 200]);
  });

  it('replaces 100 Continue', async () => {
    const headers = { ...JSON_TYPE, 'content-length': 2, expect: '100-continue' };
    const refused = await (await send(requestText('POST', '/api/default/tools/API_KEY_LIST', headers))).closed();
    expect(refused).toMatch(/^HTTP\/1\.1 401 /);
    const client = await send(requestText('POST', '/api/default/tools/API_KEY_LIST', { ...headers, ...bearer() }));
    await client.until(/^HTTP\/1\.1 100 /);
    client.send('{}');
    await client.until(/"items":/);
    expect(client.statuses).toEqual([100, 200]);
  });
});

describe('the credential of a request', () => {
  it.each(ENDPOINTS())('is verified once: %s', async (_endpoint, path) => {
    const authenticated = jest.spyOn(app.app.get(Authenticator, { strict: false }), 'authenticate');
    try {
      await fetch(app.url + path, { method: 'POST', headers: { ...JSON_TYPE, ...bearer() }, body: '{}' });
      expect(authenticated).toHaveBeenCalledTimes(1);
    } finally {
      authenticated.mockRestore();
    }
  });

  it('is not looked up in the database if it is malformed', async () => {
    const looked = jest.spyOn(app.app.get(ApiKeyRepository, { strict: false }), 'findForAuthentication');
    try {
      const key = generateApiKey();
      const wrong = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
      expect((await app.tool('API_KEY_LIST', {}, wrong)).status).toBe(401);
      expect(looked).not.toHaveBeenCalled();
    } finally {
      looked.mockRestore();
    }
  });
});

describe('an anonymous caller', () => {
  const path = () => `/api/default/mcp/${publicId}`;

  it('can call public tools', async () => {
    const body = JSON.stringify(rpc('tools/call', { name: 'open', arguments: {} }));
    const answer = await fetch(app.url + path(), { method: 'POST', headers: JSON_TYPE, body });
    expect([answer.status, await answer.json()]).toMatchObject([200, { result: { content: [] } }]);
  });

  it('releases its slot if it disconnects during admission', async () => {
    const callers = app.app.get(CallerResolver, { strict: false });
    const admit = callers.admitAnonymous.bind(callers);
    const gate = Promise.withResolvers<void>();
    const sockets: Socket[] = [];
    const admitted = jest.spyOn(callers, 'admitAnonymous').mockImplementation(async (request) => {
      sockets.push(request.raw.socket);
      await gate.promise;
      await admit(request);
    });
    const body = JSON.stringify(rpc('tools/call', { name: 'open', arguments: {} }));
    try {
      const text = requestText('POST', path(), { ...JSON_TYPE, 'content-length': body.length }, body);
      const strangers = await Promise.all(Array.from({ length: MAX_STRANGERS / 4 }, () => send(text)));
      await until('all are about to be admitted', () => sockets.length === strangers.length);
      for (const stranger of strangers) stranger.close();
      await until('all have hung up', () => sockets.every(({ destroyed }) => destroyed));
    } finally {
      gate.resolve();
      await Promise.allSettled(admitted.mock.results.map(({ value }) => value));
      admitted.mockRestore();
    }
    const answer = await fetch(app.url + path(), { method: 'POST', headers: JSON_TYPE, body });
    expect(answer.status).toBe(200);
  });

  it('cannot send a large body', async () => {
    const text = requestText('POST', path(), { ...JSON_TYPE, 'content-length': MEBIBYTE }, '{');
    const answer = await (await send(text)).closed();
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('body_too_large');
  });

  it('cannot send a large chunked body', async () => {
    const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`;
    const text = requestText('POST', path(), { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, chunk.repeat(4));
    expect(await (await send(text)).closed()).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('unauthenticated connections', () => {
  it('are closed when their headers take too long', async () => {
    const [silent, slow] = [await connection(), await send('GET /health/live HTTP/1.1\r\nhost: a')];
    const trickle = setInterval(() => slow.send('a'), HEADERS_TIMEOUT_MS / 5);
    try {
      expect(await slow.closed()).toMatch(/^HTTP\/1\.1 408 /);
      await silent.closed();
    } finally {
      clearInterval(trickle);
    }
  });

  it('are closed in favor of newer ones of the same address, unlike authenticated connections', async () => {
    const list = requestText('GET', '/api/default/tools', bearer());
    const known = await send(list);
    await known.until(/"items":/);
    const strangers: RawConnection[] = [];
    for (let i = 0; i < 3 * MAX_STRANGERS; i++) strangers.push(await connection('127.0.0.2'));
    await until('the oldest are closed', () => strangers.filter(({ ended }) => !ended).length <= MAX_STRANGERS / 4);
    expect(strangers.at(-1)?.ended).toBe(false);
    known.received = '';
    known.send(list);
    await known.until(/"items":/);
    const newcomer = await send(list);
    await newcomer.until(/"items":/);
  });

  it('are closed in favor of newer ones of other addresses', async () => {
    const strangers: RawConnection[] = [];
    for (let i = 0; i < 2 * MAX_STRANGERS; i++) strangers.push(await connection(`127.0.1.${i + 1}`));
    await until('the oldest are closed', () => strangers.filter(({ ended }) => !ended).length <= MAX_STRANGERS);
    expect(strangers.at(-1)?.ended).toBe(false);
  });

  it('are closed when they pipeline too many requests', async () => {
    const probe = requestText('GET', '/health/live');
    const some = await send(probe.repeat(8));
    await until('all are answered', () => some.statuses.length === 8);
    const many = await send(probe.repeat(200));
    await many.closed();
    expect(many.statuses.length).toBeLessThan(100);
  });
});

describe('a stream', () => {
  it('outlasts the time limits of a request', async () => {
    const created = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', connections: [] } });
    const agentId = created.body.item.id as string;
    await app
      .tool('COLLECTION_THREADS_CREATE', { data: { id: 'long', title: 'Long', virtual_mcp_id: agentId } })
      .expect(200);
    const stream = await send(requestText('GET', '/api/default/agent-runtime/threads/long/stream', bearer()));
    await stream.until(/text\/event-stream/);
    // The same limit closes another request in the meantime.
    const timed = await send(requestText('POST', '/api/default/tools/X', { ...bearer(), 'content-length': 9 }));
    await timed.closed();
    const run = await fetch(`${app.url}/api/default/agent-runtime/threads/long/messages`, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...bearer() },
      body: JSON.stringify({
        messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
        agent: { id: agentId },
      }),
    });
    expect(run.status).toBe(202);
    await stream.until(/\[DONE\]/);
  });
});

describe('/health/ready', () => {
  it('queries the database once for many concurrent requests', async () => {
    const asked = jest.spyOn(app.app.get(HealthService, { strict: false }), 'probe');
    try {
      const probe = await send(requestText('GET', '/health/ready').repeat(12));
      await until('all are answered', () => probe.statuses.length === 12);
      expect(new Set(probe.statuses)).toEqual(new Set([200]));
      expect(asked.mock.calls.length).toBeLessThan(6);
    } finally {
      asked.mockRestore();
    }
  });
});
