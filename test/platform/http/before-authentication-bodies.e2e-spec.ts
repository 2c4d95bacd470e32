import { describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { requestText } from '../../support/raw-http.js';
import {
  ENDPOINTS,
  HEADERS_TIMEOUT_MS,
  JSON_TYPE,
  MEBIBYTE,
  SHORT_TIME_LIMITS,
  useStrictApp,
} from './before-authentication.support.js';

const setUp = useStrictApp();
const { bearer, send } = setUp;

const unfinished = (path: string, headers: object = {}): string =>
  requestText('POST', path, { ...JSON_TYPE, 'content-length': MEBIBYTE, ...headers }, '{"a":');

describe('a body that never arrives', () => {
  it.each(ENDPOINTS)('is not awaited without a credential: %s', async (_endpoint, path) => {
    const answer = await (await send(unfinished(path))).closed();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toMatch(/\r\nwww-authenticate: Bearer /i);
    expect(answer).toContain('credential_missing');
  });

  it.each(ENDPOINTS)('is not awaited with an unknown key: %s', async (_endpoint, path) => {
    const answer = await (await send(unfinished(path, bearer(generateApiKey())))).closed();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain('credential_invalid');
  });

  it.each(ENDPOINTS.filter(([, path = '']) => path.includes('/default')))(
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

  describe('with a valid key', () => {
    const { bearer, send } = useStrictApp(SHORT_TIME_LIMITS);

    it('is awaited up to a time limit', async () => {
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
});

describe('a response before the end of the body', () => {
  it('reaches a client that sends the whole body', async () => {
    const call = (): Promise<Response> =>
      fetch(`${setUp.app.url}/api/default/tools/API_KEY_LIST`, {
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
