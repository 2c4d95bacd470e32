import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { callProxy, eventsOf, pathOf, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { type ScriptedServer, startScripted } from '../../support/scripted-upstream.js';

const CALLERS = 200;
const TOOLS = ['json', 'stream'];

let app: Tenant;
let upstream: ScriptedServer;
/** The ids that arrived in each session of the upstream. */
const idsOf = new Map<string, unknown[]>();

beforeAll(async () => {
  let sessions = 0;
  upstream = await startScripted(async ({ message: { id, method, params = {} }, headers }, response) => {
    if (id === undefined) return void response.writeHead(202).end();
    const answer = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id, result });
    const json = { 'content-type': 'application/json' };
    if (method === 'initialize') {
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'u', version: '1' },
      };
      return void response.writeHead(200, { ...json, 'mcp-session-id': `s${sessions++}` }).end(answer(result));
    }
    if (method === 'tools/list') {
      const tools = TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } }));
      return void response.writeHead(200, json).end(answer({ tools }));
    }
    if (method !== 'tools/call') {
      const error = { code: -32601, message: 'Method not found' };
      return void response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    }
    const session = String(headers['mcp-session-id']);
    idsOf.set(session, [...(idsOf.get(session) ?? []), id]);
    const { caller } = params['arguments'] as { caller: number };
    const progressToken = (params['_meta'] as { progressToken?: unknown } | undefined)?.progressToken;
    // In an order that is independent of the arrival.
    await sleep(Math.random() * 100);
    const result = answer({ content: [{ type: 'text', text: `for ${caller}` }] });
    if (params['name'] === 'json') return void response.writeHead(200, json).end(result);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: caller } };
    response.write(`data: ${JSON.stringify(progress)}\n\n`);
    await sleep(Math.random() * 50);
    response.end(`data: ${result}\n\n`);
  });
  app = await newTenant();
});
afterAll(async () => {
  await app?.close();
  await upstream?.close();
});

describe(`${CALLERS} callers at once with the same ids`, () => {
  it.each(TOOLS)('get their own answers, without sessions (%s)', async (tool) => {
    idsOf.clear();
    const path = pathOf(app, await connectTo(app, upstream.url));
    const call = async (caller: number): Promise<void> => {
      const params = { name: tool, arguments: { caller }, _meta: { progressToken: 1 } };
      const accept = tool === 'json' ? 'application/json' : 'application/json, text/event-stream';
      const answer = await callProxy(app, path, {
        key: app.apiKey,
        headers: { accept },
        body: rpc('tools/call', params),
      });
      const messages = tool === 'json' ? [rpcOf(answer)] : eventsOf(answer);
      expect(messages.at(-1)).toEqual({
        jsonrpc: '2.0',
        id: 1,
        result: { content: [{ type: 'text', text: `for ${caller}` }] },
      });
      if (tool === 'stream') expect(messages[0]).toMatchObject({ params: { progressToken: 1, progress: caller } });
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));

    // They shared one session, in which all request ids were unique.
    expect(idsOf.size).toBe(1);
    const [ids = []] = idsOf.values();
    expect(new Set(ids).size).toBe(CALLERS);
  });

  it('get their own answers, each in a session', async () => {
    idsOf.clear();
    const path = pathOf(app, await connectTo(app, upstream.url));
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const call = async (caller: number): Promise<void> => {
      const opened = await callProxy(app, path, { key: app.apiKey, body: rpc('initialize', initialize) });
      const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
      const answer = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('json', { caller }) });
      expect(rpcOf(answer).result?.content?.[0]?.text).toBe(`for ${caller}`);
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
    expect(idsOf.size).toBe(CALLERS);
  });
});
