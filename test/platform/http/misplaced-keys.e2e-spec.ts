import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { MetricsExport } from '../../../src/platform/telemetry/metrics-export.js';
import { agentOf } from '../../support/gateway-agents.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { callProxy, type ProxyAnswer, type ProxyRequest, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';

/** A well-formed key without rights: redaction depends on the format only. */
const KEY = generateApiKey();
const TRACE = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
const ENCODED = [...KEY].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');

let app: TestApp;
let upstream: ToolServer;
let collector: Server;
let connectionId: string;
let agentId: string;
const lines: string[] = [];
const exported: string[] = [];
const environment = { ...process.env };

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    exported.push(Buffer.concat(await request.toArray()).toString());
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  // The exporters read these variables from the process environment.
  const otlp = {
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  Object.assign(process.env, otlp);
  // Only the upstream server can give a tool such a name.
  upstream = await startToolServer('echo', KEY);
  app = await startTestApp({ env: { LOG_LEVEL: 'trace', ...otlp }, onLogLine: (line) => lines.push(line) });
  connectionId = await connectTo(app, upstream.url);
  agentId = await agentOf(app, [connectionId]);
});
afterAll(async () => {
  await app?.close();
  await upstream?.close();
  collector?.close();
  process.env = environment;
});

type Place = [where: string, path: () => string, wanted: ProxyRequest];

const echo = (): string => `/api/default/mcp/${connectionId}`;
const call = (name: string, more: object = {}): object => ({ ...toolCall(name, { text: 'a' }), ...more });
const PLACES: Place[] = [
  ['a path segment', () => `/api/default/mcp/${KEY}`, { body: call('echo') }],
  ['an encoded path segment', () => `/api/default/mcp/${ENCODED}`, { body: call('echo') }],
  ['a twice encoded path segment', () => `/nowhere/${ENCODED.replaceAll('%', '%25')}`, {}],
  ['a legacy path', () => `/mcp/${KEY}`, { body: call('echo') }],
  ['the path of an agent', () => `/api/default/mcp/gateway/${KEY}`, { body: call('echo') }],
  ['an organization', () => `/api/${KEY}/mcp/self`, { body: call('echo') }],
  ['an unknown route', () => `/${KEY}`, { method: 'GET' }],
  ['a path that cannot be decoded', () => `/api/%zz/${KEY}`, { method: 'GET' }],
  ['a path without a credential', () => `/api/default/mcp/${KEY}`, { body: call('echo'), key: '' }],
  ['a metadata path', () => `/mcp/${KEY}/.well-known/oauth-protected-resource`, { method: 'GET' }],
  ['a query', () => `${echo()}?api_key=${KEY}`, { body: call('echo') }],
  ['the request id', echo, { body: call('echo'), headers: { 'x-request-id': KEY } }],
  ['part of the request id', echo, { body: call('echo'), headers: { 'x-request-id': `id-${KEY}` } }],
  ['the user agent', echo, { body: call('echo'), headers: { 'user-agent': `agent ${KEY}` } }],
  ['a forwarded header', echo, { body: call('echo'), headers: { 'mcp-param-token': KEY, 'last-event-id': KEY } }],
  ['the name of a header', echo, { body: call('echo'), headers: { [`mcp-param-${KEY}`]: 'a' } }],
  ['the trace state', echo, { body: call('echo'), headers: { ...TRACE, tracestate: `a=${KEY}` } }],
  ['an unknown tool', echo, { body: call(`tool-${KEY}`) }],
  ['a known tool', echo, { body: call(KEY) }],
  ['the tool of an agent', () => `/api/default/mcp/gateway/${agentId}`, { body: call(KEY) }],
  ['a streamed tool', () => `${echo()}/call-tool/${KEY}`, { body: {} }],
  ['an encoded streamed tool', () => `${echo()}/call-tool/${ENCODED}`, { body: {} }],
  ['a JSON-RPC method', echo, { body: call('echo', { method: KEY }) }],
  ['a JSON-RPC notification', echo, { body: { jsonrpc: '2.0', method: `notifications/${KEY}` } }],
  ['a JSON-RPC id', echo, { body: call('echo', { id: KEY }) }],
  ['a session id', echo, { body: call('echo'), headers: { 'mcp-session-id': KEY } }],
  ['a management tool over MCP', () => '/api/default/mcp/self', { body: call(KEY) }],
  ['a management tool', () => `/api/default/tools/${KEY}`, { body: {} }],
  ['a property', () => '/api/default/tools/API_KEY_LIST', { body: { [KEY]: KEY } }],
  ['an invalid value', () => '/api/default/tools/COLLECTION_THREADS_GET', { body: { id: `${KEY}/` } }],
  ['a thread', () => `/api/default/agent-runtime/threads/${KEY}/stream`, { method: 'GET' }],
  [
    'a new thread',
    () => '/api/default/tools/COLLECTION_THREADS_CREATE',
    { body: { data: { id: KEY, title: 'A', virtual_mcp_id: randomUUID() } } },
  ],
  [
    'a position',
    () => '/api/default/agent-runtime/threads/none/stream',
    { method: 'GET', headers: { 'last-event-id': KEY } },
  ],
  [
    'an Idempotency-Key',
    () => '/api/default/agent-runtime/threads/none/messages',
    {
      body: { messages: [{ role: 'user', parts: [{ type: 'text', text: 'a' }] }], agent: { id: randomUUID() } },
      headers: { 'idempotency-key': KEY },
    },
  ],
];

async function sendTo(path: string, { key = app.apiKey, ...wanted }: ProxyRequest): Promise<ProxyAnswer> {
  return callProxy(app, path, { ...wanted, key: key === '' ? undefined : key });
}

describe('a misplaced key', () => {
  it.each(PLACES)('is neither returned nor forwarded: %s', async (_where, path, wanted) => {
    const before = upstream.requests.length;
    const { headers, text } = await sendTo(path(), wanted);
    expect(JSON.stringify(headers)).not.toContain(KEY);
    expect(text).not.toContain(KEY);
    const seen = upstream.requests.slice(before).map(({ method, path: at, headers: sent, message }) => ({
      at: `${method} ${at}`,
      sent,
      message,
    }));
    expect(JSON.stringify(seen)).not.toContain(KEY);
  });

  it('does not appear in logs, audit records, metrics or traces', async () => {
    for (const [, path, wanted] of PLACES) await sendTo(path(), wanted);
    const last = 'after-all-others';
    await sendTo(echo(), { body: call('echo'), headers: { 'x-request-id': last } });
    await eventually(() => lines.some((line) => line.includes(last)));
    await eventually(() => exported.some((body) => body.includes(last)));
    const { body: records } = await app.tool('MONITORING_LOGS_LIST', { limit: 1000 }).expect(200);
    const metrics = await fetch(app.app.get(MetricsExport, { strict: false }).url ?? '');
    const sinks = {
      log: lines.join(''),
      records: JSON.stringify(records),
      metrics: await metrics.text(),
      traces: exported.join(''),
    };
    for (const [sink, text] of Object.entries(sinks)) {
      expect({ sink, isEmpty: text === '' }).toEqual({ sink, isEmpty: false });
      expect({ sink, holdsKey: text.includes(KEY) || text.includes(ENCODED) }).toEqual({ sink, holdsKey: false });
    }
    // Redaction replaces the key, not the line.
    expect(sinks.log).toContain('/api/default/mcp/***');
    expect(records.items.length).toBeGreaterThan(5);
  });

  it('is redacted anywhere in a log line', () => {
    expect(lines.every((line) => !/sbx_[0-9A-Za-z]{12}/.test(line))).toBe(true);
  });
});
