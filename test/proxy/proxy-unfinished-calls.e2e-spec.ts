import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { newTenant, type Tenant } from '../support/tenant.js';
import { type ProxiedUpstream, startProxiedUpstream } from '../support/proxied-upstream.js';
import { callProxy, errorIn, TAKES_JSON, TAKES_STREAMS, toolCall } from '../support/proxy-calls.js';
import { auditOf } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { flood, JSON_TYPE, type ScriptedServer, SSE_TYPE } from '../support/scripted-upstream.js';

let proxied: ProxiedUpstream;
let app: Tenant;
let upstream: ScriptedServer;

beforeAll(async () => {
  proxied = await startProxiedUpstream(newTenant);
  ({ app, upstream } = proxied);
});
afterAll(() => proxied?.close());

describe('a slow upstream', () => {
  it.each([
    ['before it answers', () => undefined, TAKES_JSON],
    [
      'in the middle of a stream',
      (response: ServerResponse) => response.writeHead(200, SSE_TYPE).write(': hi\n\n'),
      TAKES_STREAMS,
    ],
    ['with an endless stream', (response: ServerResponse) => flood(response, SSE_TYPE, ': more\n\n'), TAKES_JSON],
  ] as [string, (response: ServerResponse) => void, Record<string, string>][])(
    'times out and gets a cancellation: %s',
    async (_when, script, accepted) => {
      const path = await proxied.connected({ timeout: 1000 });
      const ask = () => callProxy(app, path, { key: app.apiKey, headers: accepted, body: toolCall('fine') });
      // The time can be over before the call is sent.
      const { answer, call } = await eventually(async () => {
        const before = upstream.calls('tools/call').length;
        const answer = await proxied.whileCalling(script, ask);
        expect(answer.status).toBe(200);
        expect(errorIn(answer)).toMatchObject({ code: -32603, data: { code: 'upstream_timeout' } });
        const call = upstream.calls('tools/call')[before];
        return call !== undefined && { answer, call };
      });
      await eventually(() =>
        upstream
          .calls('notifications/cancelled')
          .some(({ message }) => message.params?.['requestId'] === call.message.id),
      );
      const record = await auditOf(app, String(answer.headers['x-request-id']));
      expect(record).toMatchObject({ status: 'error', error_code: 'upstream_timeout' });
    },
  );
});

describe('a caller that hangs up', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['before the answer', () => undefined],
    ['during the answer', (response) => flood(response, JSON_TYPE, 'x'.repeat(65_536))],
    ['during the stream', (response) => flood(response, SSE_TYPE, 'data: {"jsonrpc":"2.0"}\n\n')],
  ])('ends the call at the upstream, with a session and without: %s', async (_when, script) => {
    for (const hasSession of [false, true]) {
      const path = await proxied.connected();
      const requestId = `gone-${randomUUID()}`;
      const session = hasSession ? await proxied.openSession(path) : {};
      const before = upstream.calls('tools/call').length;
      await proxied.whileCalling(script, async () => {
        const abort = new AbortController();
        const gone = fetch(app.url + path, {
          method: 'POST',
          signal: abort.signal,
          headers: {
            ...JSON_TYPE,
            ...TAKES_STREAMS,
            ...session,
            authorization: `Bearer ${app.apiKey}`,
            'x-request-id': requestId,
          },
          body: JSON.stringify(toolCall('fine')),
        }).catch(() => undefined);
        await eventually(() => expect(upstream.calls('tools/call').length).toBeGreaterThan(before));
        // The answer is not read, so that all buffers on its way fill up.
        await Promise.race([gone, sleep(300)]);
        abort.abort();
        await gone;
        expect(await upstream.calls('tools/call')[before]?.hungUp).toBe(true);
      });
      await eventually(async () => expect(await auditOf(app, requestId)).toBeDefined());
      expect(await auditOf(app, requestId)).toMatchObject({ status: 'error', error_code: 'upstream_cancelled' });
    }
  });
});
