import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant } from '../support/tenant.js';
import { APPS, type AppServer, startAppServer } from '../support/app-server.js';
import { openLegacy, openModern } from '../support/era-clients.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../support/gateway-agents.js';
import { callProxy, pathOf, rpc, TAKES_STREAMS } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { useStarted } from '../support/use-started.js';

const ERAS = ['legacy', 'modern'] as const;
const ALL = ['plain', 'refresh', 'show'];
/** Capabilities without MCP Apps. */
const OTHERS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const FOR_MODELS = ['plain', 'show'];

const app = useStarted(newTenant);
const servers: ScriptedServer[] = [];

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

async function started(server: Promise<AppServer | ScriptedServer>): Promise<string> {
  const { url } = await server;
  servers.push(await server);
  return url;
}

async function namesFor(era: (typeof ERAS)[number], id: string, capabilities: object): Promise<string[]> {
  const client =
    era === 'modern' ? await openModern(app, id, capabilities) : (await openLegacy(app, id, capabilities)).client;
  const { tools } = await client.listTools();
  // Apps call through their client, whose server cannot tell these calls from others.
  const { content } = await client.callTool({ name: 'refresh', arguments: {} });
  expect(content).toEqual([{ type: 'text', text: 'app refresh' }]);
  await client.close();
  return tools.map(({ name }) => name).toSorted();
}

describe.each(ERAS)('a tool for apps alone, of a %s upstream', (upstreamEra) => {
  let connection: string;
  let agent: string;
  let pinned: string;
  beforeAll(async () => {
    const url = await started(startAppServer(upstreamEra, { name: 'app', page: '' }));
    connection = await connectTo(app, url);
    pinned = await connectTo(app, url, { pin: 'warn' });
    agent = await agentOf(app, [connection]);
  });

  it.each(ERAS)('is listed only to %s clients with MCP Apps, and called by all', async (clientEra) => {
    for (const id of [connection, pinned, agent]) {
      expect(await namesFor(clientEra, id, {})).toEqual(FOR_MODELS);
      expect(await namesFor(clientEra, id, APPS)).toEqual(ALL);
      expect(await namesFor(clientEra, id, OTHERS)).toEqual(FOR_MODELS);
    }
  });

  it('is not listed without a session, whatever the grants and the form of the answer', async () => {
    const named = await keyWith(app, { [connection]: ALL });
    for (const key of [app.apiKey, named]) {
      const path = pathOf(app, connection);
      expect((await listThrough(app, path, key)).names.toSorted()).toEqual(FOR_MODELS);
      const { text } = await callProxy(app, path, { key, headers: TAKES_STREAMS, body: rpc('tools/list') });
      expect(text).toContain('"show"');
      expect(text).not.toContain('"refresh"');
    }
  });
});

describe('in search mode', () => {
  it('a tool for apps alone is not found, and listed to clients with MCP Apps', async () => {
    const connection = await connectTo(app, await started(startAppServer('legacy', { name: 'app', page: '' })));
    const agent = await agentOf(app, [connection], { tool_mode: 'search', pinned_tools: ['refresh', 'show'] });
    const path = gatewayPath(app, agent);
    const SEARCH = ['call_tool', 'search_tools'];
    expect((await listThrough(app, path)).names.toSorted()).toEqual([...SEARCH, 'show']);
    expect(await namesFor('modern', agent, APPS)).toEqual(['call_tool', 'refresh', 'search_tools', 'show']);
    const found = await callThrough(app, path, 'search_tools', { query: 'weather' });
    const content = found.rpc.result?.['structuredContent'] as { tools: { name: string }[] } | undefined;
    expect(content?.tools.map(({ name }) => name).toSorted()).toEqual(FOR_MODELS);
    const called = await callThrough(app, path, 'call_tool', { name: 'refresh', arguments: {} });
    expect(called.text).toContain('no tool with this name');
    // Similar names are suggested, but not this one.
    const [similar, hidden] = await Promise.all(
      ['plai', 'refres'].map((name) => callThrough(app, path, 'call_tool', { name, arguments: {} })),
    );
    expect(similar?.text).toContain('plain');
    expect(hidden?.text).not.toContain('refresh');
    const plain = await callThrough(app, path, 'call_tool', { name: 'plain', arguments: {} });
    expect(plain.rpc.result?.content).toEqual([{ type: 'text', text: 'app plain' }]);
  });
});

describe('the list of a connection without such tools', () => {
  it('passes as it was sent, and is filtered once it has one', async () => {
    const list = { tools: '{"name":"one","inputSchema":{"type":"object"},"x":1.0}' };
    const upstream = await startScripted(
      legacyServer(({ message }, response) => {
        if (message.method !== 'tools/list') return sendResult(response, message, { content: [] });
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"tools":[${list.tools}]}}`);
      }).script,
    );
    servers.push(upstream);
    const connection = await connectTo(app, upstream.url);
    const path = pathOf(app, connection);
    const listed = async (): Promise<string> =>
      (await callProxy(app, path, { key: app.apiKey, body: rpc('tools/list') })).text;
    // The first list is read, and those after it are not.
    expect(await listed()).toContain(list.tools);
    expect(await listed()).toContain(list.tools);
    list.tools += ',{"name":"two","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}';
    // A list that is filtered by grants is read as a whole, and tells the service what there is.
    expect((await listThrough(app, path, await keyWith(app, { [connection]: ['one'] }))).names).toEqual(['one']);
    expect(await listed()).not.toContain('"two"');
    expect(await listed()).toContain('"one"');
  });
});

it('a tool for apps alone is not listed in a session that has it alone', async () => {
  const server = startAppServer('legacy', { name: 'app', page: '', needsSampling: true });
  const connection = await connectTo(app, await started(server));
  // Now the service knows what clients without sampling get.
  expect((await listThrough(app, pathOf(app, connection))).names).toEqual(['plain']);
  for (const [capabilities, names] of [
    [{ sampling: {} }, FOR_MODELS],
    [{ sampling: {}, ...APPS }, ALL],
  ] as const) {
    const { client } = await openLegacy(app, connection, capabilities);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(names);
    await client.close();
  }
});

it('a resumed stream that repeats a list hides a tool for apps alone, and nothing else', async () => {
  const others = [
    'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}\n\n',
    'data: [{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":2}}]\n\n',
  ];
  const tools = ['one', 'two'].map((name) => ({
    name,
    inputSchema: { type: 'object' },
    ...(name === 'two' && { _meta: { ui: { visibility: ['app'] } } }),
  }));
  const sessions = legacyServer(({ message }, response) => sendResult(response, message, { tools }));
  const upstream = await startScripted((request, response) => {
    if (request.method !== 'GET') return sessions.script(request, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return void response.end(
      [`data: ${JSON.stringify({ jsonrpc: '2.0', id: 7, result: { tools } })}\n\n`, ...others].join(''),
    );
  });
  servers.push(upstream);
  const connection = await connectTo(app, upstream.url);
  for (const [capabilities, isShown] of [
    [{}, false],
    [APPS, true],
  ] as const) {
    const { client, transport } = await openLegacy(app, connection, capabilities);
    const headers = {
      ...TAKES_STREAMS,
      'mcp-session-id': String(transport.sessionId),
      'mcp-protocol-version': '2025-11-25',
      'last-event-id': 'event-1',
    };
    const { text } = await callProxy(app, pathOf(app, connection), { method: 'GET', key: app.apiKey, headers });
    expect(text).toContain('"one"');
    expect(text.includes('"two"')).toBe(isShown);
    for (const other of others) expect(text).toContain(other);
    await client.close();
  }
});
