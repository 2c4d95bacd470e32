import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { answerText, type ProxiedUpstream, startProxiedUpstream } from '../support/proxied-upstream.js';
import { callProxy, TAKES_STREAMS, toolCall } from '../support/proxy-calls.js';
import { JSON_TYPE, type ScriptedServer, SSE_TYPE } from '../support/scripted-upstream.js';

let proxied: ProxiedUpstream;
let app: Tenant;
let upstream: ScriptedServer;

beforeAll(async () => {
  proxied = await startProxiedUpstream(newTenant);
  ({ app, upstream } = proxied);
});
afterAll(() => proxied?.close());

describe('the headers that are passed', () => {
  const SECRET = 'sbx-test-secret';
  const HEADERS = {
    cookie: 'session=mine',
    'x-signalbox-user': 'admin',
    'x-forwarded-for': '10.0.0.1',
    'x-api-key': 'mine',
    'proxy-authorization': 'Basic bWluZQ==',
    'x-request-id': 'request-of-mine',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };

  it.each(['', '/call-tool/fine'])(
    'to the upstream contain its own credentials, never the caller’s (%s)',
    async (more) => {
      const path = await proxied.connected({
        connection_token: SECRET,
        connection_headers: { headers: { 'x-tenant': 'seven' } },
      });
      const before = upstream.calls('tools/call').length;
      const body = more === '' ? toolCall('fine') : {};
      const answer = await callProxy(app, path + more, { key: app.apiKey, headers: HEADERS, body });
      expect(answer.status).toBe(200);
      const [request] = upstream.calls('tools/call').slice(before);
      const sent = request?.headers ?? {};
      expect(sent).toMatchObject({
        authorization: `Bearer ${SECRET}`,
        'x-tenant': 'seven',
        'x-request-id': 'request-of-mine',
        traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-0[01]$/),
      });
      const text = JSON.stringify(sent);
      expect(text).not.toContain(app.apiKey);
      for (const name of ['cookie', 'x-signalbox-user', 'x-forwarded-for', 'x-api-key', 'proxy-authorization']) {
        expect(sent).not.toHaveProperty(name);
      }
    },
  );

  it('in a session as well', async () => {
    const path = await proxied.connected({ connection_token: SECRET });
    const session = await proxied.openSession(path);
    const before = upstream.requests.length;
    const headers = { ...HEADERS, ...session };
    await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') });
    const sent = upstream.requests.slice(before).find(({ message }) => message.method === 'tools/call')?.headers;
    expect(sent).toMatchObject({ authorization: `Bearer ${SECRET}`, 'x-request-id': 'request-of-mine' });
    expect(JSON.stringify(sent)).not.toMatch(/mine=|session=mine|admin/);
    expect(sent?.['mcp-session-id']).not.toBe(session['mcp-session-id']);
  });

  it.each([
    ['JSON', JSON_TYPE, '', 'no-store'],
    ['a stream', SSE_TYPE, 'data: ', 'no-cache, no-transform'],
  ])(
    'from the upstream contain no cookie, challenge, session or caching header (%s)',
    async (_form, type, prefix, caching) => {
      const answer = await proxied.calledWith(
        (response, message) =>
          response
            .writeHead(200, {
              ...type,
              'set-cookie': 'theirs=1',
              'www-authenticate': 'Bearer realm="theirs"',
              'mcp-session-id': 'theirs',
              'access-control-allow-origin': '*',
              'cache-control': 'public, max-age=86400',
              server: 'theirs',
            })
            .end(`${prefix}${answerText(message)}\n\n`),
        {},
        TAKES_STREAMS,
      );
      expect(answer.text).toContain('fine');
      expect(JSON.stringify(answer.headers)).not.toContain('theirs');
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
      expect(answer.headers['cache-control']).toBe(caching);
    },
  );
});
