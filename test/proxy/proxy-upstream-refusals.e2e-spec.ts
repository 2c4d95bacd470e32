import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { type ProxiedUpstream, startProxiedUpstream } from '../support/proxied-upstream.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../support/proxy-calls.js';
import { auditOf, connectTo } from '../support/proxy-connections.js';
import { JSON_TYPE, type ScriptedServer, sendJson, sendResult, startScripted } from '../support/scripted-upstream.js';

let proxied: ProxiedUpstream;
let app: Tenant;
/** Represents a metadata service, which must never be called. */
let metadata: ScriptedServer;

beforeAll(async () => {
  metadata = await startScripted((_request, response) => void response.writeHead(200).end('secrets'));
  proxied = await startProxiedUpstream(newTenant);
  ({ app } = proxied);
});
afterAll(async () => {
  await proxied?.close();
  await metadata?.close();
});

describe('an upstream that refuses', () => {
  it.each([
    [401, 'upstream_unauthorized'],
    [403, 'upstream_unauthorized'],
    [429, 'upstream_unreachable'],
    [500, 'upstream_unreachable'],
    [503, 'upstream_unreachable'],
  ])('with %d is unavailable to the caller: %s', async (status, code) => {
    const answer = await proxied.calledWith((response) =>
      response
        .writeHead(status, { ...JSON_TYPE, 'www-authenticate': 'Bearer realm="theirs"', 'set-cookie': 'theirs=1' })
        .end('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"theirs"}}'),
    );
    expect({ status: answer.status, rpc: rpcOf(answer).error?.code, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 503,
      rpc: -32000,
      code,
    });
    expect(answer.text + JSON.stringify(answer.headers)).not.toContain('theirs');
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: code });
  });

  it('in JSON-RPC is relayed unchanged', async () => {
    const error = { code: -31999, message: 'Mine', data: { why: ['a', { b: 1 }] } };
    const answer = await proxied.calledWith((response, { id }) => sendJson(response, { jsonrpc: '2.0', id, error }));
    expect({ status: answer.status, body: JSON.parse(answer.text) as unknown }).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 1, error },
    });
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: 'tool_error' });
  });

  it('by a failed tool is relayed unchanged', async () => {
    const result = { content: [], isError: true };
    const answer = await proxied.calledWith((response, message) => sendResult(response, message, result));
    expect(rpcOf(answer)).toEqual({ jsonrpc: '2.0', id: 1, result });
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ status: 'error', error_code: 'tool_error' });
  });

  it.each([301, 302, 303, 307, 308])('with the redirect %d is not followed', async (status) => {
    const answer = await proxied.calledWith((response) =>
      response.writeHead(status, { location: `${metadata.origin}/latest/meta-data/` }).end(),
    );
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({
      status: 500,
      code: 'upstream_protocol',
    });
    expect(answer.headers).not.toHaveProperty('location');
    expect(metadata.requests).toEqual([]);
  });

  it('with a redirect of every request is not followed', async () => {
    const redirecting = await startScripted((_request, response) => {
      response.writeHead(307, { location: metadata.url }).end();
    });
    const path = pathOf(app, await connectTo(app, redirecting.url));
    const answer = await callProxy(app, path, { key: app.apiKey, body: toolCall('fine') });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(metadata.requests).toEqual([]);
    await redirecting.close();
  });
});
