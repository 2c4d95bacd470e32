import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ApiKeyRepository } from '../../../src/identity/api-keys/api-key.repository.js';
import { Authenticator } from '../../../src/identity/auth/authenticator.js';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { CallerResolver } from '../../../src/proxy/http/caller-resolver.js';
import { rpc } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { requestText } from '../../support/raw-http.js';
import { legacyServer, sendResult } from '../../support/scripted-upstream.js';
import { Upstreams } from '../../support/upstreams.js';
import { ENDPOINTS, JSON_TYPE, MAX_UNAUTHENTICATED, MEBIBYTE, useStrictApp } from './before-authentication.support.js';

const setUp = useStrictApp();
const { bearer, send } = setUp;
/** The id of a connection with one public tool, `open`. */
let publicId: string;
const upstreams = new Upstreams();

beforeAll(async () => {
  const { script } = legacyServer((request, response) => {
    const { message } = request;
    if (message.method === 'tools/call') return sendResult(response, message, { content: [] });
    const tool = { name: 'open', inputSchema: { type: 'object' }, _meta: { 'mcp.service': { public_tool: true } } };
    return sendResult(response, message, { tools: [tool] });
  });
  publicId = await connectTo(setUp.app, (await upstreams.scripted(script)).url);
});
afterAll(() => upstreams.close());

describe('the credential of a request', () => {
  it.each(ENDPOINTS)('is verified once: %s', async (_endpoint, path) => {
    const authenticated = jest.spyOn(setUp.app.app.get(Authenticator, { strict: false }), 'authenticate');
    try {
      await fetch(setUp.app.url + path, { method: 'POST', headers: { ...JSON_TYPE, ...bearer() }, body: '{}' });
      expect(authenticated).toHaveBeenCalledTimes(1);
    } finally {
      authenticated.mockRestore();
    }
  });

  it('is not looked up in the database if it is malformed', async () => {
    const looked = jest.spyOn(setUp.app.app.get(ApiKeyRepository, { strict: false }), 'findForAuthentication');
    try {
      const key = generateApiKey();
      const wrong = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
      expect((await setUp.app.tool('API_KEY_LIST', {}, wrong)).status).toBe(401);
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
    const answer = await fetch(setUp.app.url + path(), { method: 'POST', headers: JSON_TYPE, body });
    expect([answer.status, await answer.json()]).toMatchObject([200, { result: { content: [] } }]);
  });

  it('releases its slot if it disconnects during admission', async () => {
    const callers = setUp.app.app.get(CallerResolver, { strict: false });
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
      const strangers = await Promise.all(Array.from({ length: MAX_UNAUTHENTICATED / 4 }, () => send(text)));
      await eventually(() => expect(sockets).toHaveLength(strangers.length));
      for (const stranger of strangers) stranger.close();
      await eventually(() => sockets.every(({ destroyed }) => destroyed));
    } finally {
      gate.resolve();
      await Promise.allSettled(admitted.mock.results.map(({ value }) => value));
      admitted.mockRestore();
    }
    const answer = await fetch(setUp.app.url + path(), { method: 'POST', headers: JSON_TYPE, body });
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
