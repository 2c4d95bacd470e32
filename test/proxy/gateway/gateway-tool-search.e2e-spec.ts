import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Fixture, startFixture } from '../../conformance/fixture/start-fixture.js';
import { succeed } from '../../support/agent-runs.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, errorIn, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { newTenant } from '../../support/tenant.js';
import { DEAD_URL, Upstreams } from '../../support/upstreams.js';
import { useStarted } from '../../support/use-started.js';

const SEARCH = { tool_mode: 'search' };

const app = useStarted(newTenant);
const upstreams = new Upstreams();

afterEach(() => upstreams.close());

interface Found {
  tools: { name: string; description?: string; inputSchema?: object }[];
  note?: string;
}

async function searchThrough(path: string, args: object, key = app.apiKey): Promise<Found> {
  const { rpc: answer } = await callThrough(app, path, 'search_tools', args, key);
  return answer.result?.['structuredContent'] as unknown as Found;
}

const namesIn = ({ tools }: Found): string[] => tools.map(({ name }) => name);

async function keyFor(permissions: Record<string, string[]>): Promise<string> {
  return (await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'narrow', permissions })).key;
}

async function recordsOf(toolName: string, agentId: string): Promise<Record<string, unknown>[]> {
  const where = {
    operator: 'and',
    conditions: [
      { field: ['agent_id'], operator: 'eq', value: agentId },
      { field: ['tool_name'], operator: 'eq', value: toolName },
    ],
  };
  return (await succeed<{ items: Record<string, unknown>[] }>(app, 'MONITORING_LOGS_LIST', { where })).items;
}

describe('an agent in search mode over the gateway', () => {
  it('lists the search, the call and the pinned tools', async () => {
    const connection = await upstreams.connection(app, 'Left', 'create_issue', 'list_issues', 'weather');
    const more = { tool_mode: 'search', pinned_tools: ['weather'] };
    const id = await agentOf(app, [connection], more);
    const path = gatewayPath(app, id);
    expect((await listThrough(app, path)).names).toEqual(['search_tools', 'call_tool', 'weather']);

    const found = await searchThrough(path, { query: 'issue', limit: 1 });
    expect(found).toEqual({
      tools: [
        {
          name: expect.stringMatching(/^(create_issue|list_issues)$/),
          description: expect.any(String),
          inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
          annotations: { readOnlyHint: true },
        },
      ],
    });
    const called = await callThrough(app, path, 'call_tool', { name: 'create_issue', arguments: { text: 'a' } });
    expect(called.rpc.result).toEqual({ content: [{ type: 'text', text: 'create_issue says a' }] });
    // A client that knows the name needs no detour.
    const direct = await callThrough(app, path, 'create_issue', { text: 'b' });
    expect(direct.rpc.result?.content).toEqual([{ type: 'text', text: 'create_issue says b' }]);
    const short = `/mcp/${id}/call-tool/search_tools`;
    const legacy = await callProxy(app, short, { key: app.apiKey, body: { query: 'weather' } });
    expect(namesIn(rpcOf(legacy).result?.['structuredContent'] as unknown as Found)).toEqual(['weather']);
  });

  it('records the search, and the tool that is called instead of the call', async () => {
    const connection = await upstreams.connection(app, 'Left', 'echo');
    const id = await agentOf(app, [connection], { tool_mode: 'search' });
    const path = gatewayPath(app, id);
    await searchThrough(path, { query: 'echo' });
    await callThrough(app, path, 'call_tool', { name: 'echo', arguments: { text: 'a' } });
    await callThrough(app, path, 'call_tool', { name: 'absent' });
    expect(await recordsOf('search_tools', id)).toMatchObject([{ status: 'success', connection_id: id }]);
    expect(await recordsOf('echo', id)).toMatchObject([{ status: 'success', connection_id: connection }]);
    expect(await recordsOf('absent', id)).toMatchObject([{ status: 'error', error_code: 'unknown_tool' }]);
    expect(await recordsOf('call_tool', id)).toEqual([]);
  });

  it('finds and calls only what the caller is permitted to call', async () => {
    const connection = await upstreams.connection(app, 'Left', 'create_issue', 'close_issue');
    const id = await agentOf(app, [connection], { tool_mode: 'search', pinned_tools: ['create_issue'] });
    const path = gatewayPath(app, id);
    const narrow = await keyFor({ [id]: ['close_issue'] });
    expect((await listThrough(app, path, narrow)).names).toEqual(['search_tools', 'call_tool']);
    expect(namesIn(await searchThrough(path, { query: 'issue' }, narrow))).toEqual(['close_issue']);
    const denied = await callThrough(app, path, 'call_tool', { name: 'create_issue', arguments: {} }, narrow);
    expect(denied).toMatchObject({ status: 403, rpc: { error: { data: { code: 'permission_denied' } } } });
    expect(await recordsOf('create_issue', id)).toMatchObject([{ status: 'denied' }]);
    const permitted = await callThrough(
      app,
      path,
      'call_tool',
      { name: 'close_issue', arguments: { text: 'a' } },
      narrow,
    );
    expect(permitted.rpc.result?.content).toEqual([{ type: 'text', text: 'close_issue says a' }]);

    const nothing = await keyFor({ [id]: ['search_tools', 'call_tool'] });
    expect((await listThrough(app, path, nothing)).names).toEqual([]);
    const refused = await callThrough(app, path, 'search_tools', { query: 'issue' }, nothing);
    expect(refused).toMatchObject({ status: 403, rpc: { error: { data: { code: 'permission_denied' } } } });
    const anonymous = await callProxy(app, path, { body: toolCall('search_tools', { query: 'issue' }) });
    expect(anonymous.status).toBe(401);
  });

  it.each([
    ['search_tools', { query: '' }, /query/],
    ['search_tools', {}, /query: This property is required/],
    ['search_tools', { query: 'x'.repeat(501) }, /query/],
    ['search_tools', { query: 'x', limit: 51 }, /limit/],
    ['call_tool', {}, /name: This property is required/],
    ['call_tool', { name: '' }, /name/],
    ['call_tool', { name: 7 }, /name/],
    ['call_tool', { name: 'echo', arguments: 'text' }, /arguments/],
    ['call_tool', { name: 'echo', arguments: { text: 7 } }, /text/],
    ['call_tool', { name: 'ehco', arguments: {} }, /Did you mean `?echo/],
    ['call_tool', { name: 'call_tool', arguments: { name: 'echo' } }, /no tool with this name/],
    ['call_tool', { name: 'search_tools', arguments: { query: 'echo' } }, /no tool with this name/],
  ])('tells the model what is wrong with %s %j', async (name, args, message) => {
    const path = gatewayPath(app, await agentOf(app, [await upstreams.connection(app, 'Left', 'echo')], SEARCH));
    const { rpc: answer, status } = await callThrough(app, path, name, args);
    expect({ status, result: answer.result }).toMatchObject({ status: 200, result: { isError: true } });
    expect(answer.result?.content?.[0]?.text).toMatch(message);
  });

  it('reads the call in call_tool as if it were made directly', async () => {
    const id = await agentOf(app, [await upstreams.connection(app, 'Left', 'echo')], SEARCH);
    const path = gatewayPath(app, id);
    const args = { text: 'a', constructor: [[1]], more: 'b\0' };
    const called = await callThrough(app, path, 'call_tool', { name: 'echo', arguments: args });
    expect(called.rpc.result?.content).toEqual([{ type: 'text', text: 'echo says a' }]);
    const { rpc: refused } = await callThrough(app, path, 'call_tool', { name: app.apiKey });
    expect(refused.error).toMatchObject({ data: { code: 'invalid_rpc_request' } });
    expect(await recordsOf('call_tool', id)).toMatchObject([{ error_code: 'invalid_rpc_request' }]);
  });

  it('answers a query that fills a whole body with an error', async () => {
    const path = gatewayPath(app, await agentOf(app, [await upstreams.connection(app, 'Left', 'echo')], SEARCH));
    const query = 'word '.repeat(200_000);
    const { rpc: answer } = await callThrough(app, path, 'search_tools', { query });
    expect(answer.result).toMatchObject({ isError: true });
    expect(JSON.stringify(answer).length).toBeLessThan(1_000);
  });

  it('offers all to a caller whose tools are few in the mode auto, and leaves other agents alone', async () => {
    const many = Array.from({ length: 41 }, (_, i) => `tool_${i}`);
    const connection = await upstreams.connection(app, 'Left', ...many);
    const id = await agentOf(app, [connection], { tool_mode: 'auto' });
    const path = gatewayPath(app, id);
    expect((await listThrough(app, path)).names).toEqual(['search_tools', 'call_tool']);
    const declared = rpc('tools/list', { _meta: { 'mcp.service': { tool_mode: 'all' } } });
    const whole = await callProxy(app, path, { key: app.apiKey, body: declared });
    expect(rpcOf(whole).result?.tools).toHaveLength(41);
    const narrow = await keyFor({ [id]: ['tool_1', 'tool_2'] });
    expect((await listThrough(app, path, narrow)).names).toEqual(['tool_1', 'tool_2']);

    const own = await upstreams.connection(app, 'Right', 'search_tools', 'call_tool');
    const plain = gatewayPath(app, await agentOf(app, [own]));
    expect((await listThrough(app, plain)).names).toEqual(['call_tool', 'search_tools']);
    const { rpc: answer } = await callThrough(app, plain, 'search_tools', { text: 'a' });
    expect(answer.result?.content).toEqual([{ type: 'text', text: 'search_tools says a' }]);
  });

  it('finds nothing, rather than refusing the caller, while no tool can be listed', async () => {
    const path = gatewayPath(app, await agentOf(app, [await connectTo(app, DEAD_URL)], SEARCH));
    const found = await searchThrough(path, { query: 'echo' });
    expect(found).toEqual({ tools: [], note: 'No tool matches these words. Try others.' });
  });

  it('searches 10,000 tools without keeping others waiting', async () => {
    const server = await upstreams.serve(...Array.from({ length: 10_000 }, (_, i) => `tool_${i}_of_many`));
    const path = gatewayPath(app, await agentOf(app, [await connectTo(app, server.url)], SEARCH));
    expect((await listThrough(app, path)).names).toEqual(['search_tools', 'call_tool']);
    const searches = Array.from({ length: 5 }, () => searchThrough(path, { query: 'tool 4711 many', limit: 5 }));
    const pings = Array.from({ length: 6 }, () => callProxy(app, path, { key: app.apiKey, body: rpc('ping') }));
    // They come later, and are answered while the index is built.
    const answered = [Promise.all(pings).then(() => 'pings'), ...searches.map((search) => search.then(() => 'search'))];
    expect(await Promise.race(answered)).toBe('pings');
    for (const ping of pings) expect((await ping).status).toBe(200);
    expect((await Promise.all(searches)).map((found) => namesIn(found)[0])).toEqual(
      Array.from({ length: 5 }, () => 'tool_4711_of_many'),
    );
  });
});

describe.each([
  ['legacy', 'legacy' as const],
  ['modern', { pin: '2026-07-28' }],
])('a client of the %s era at an agent in search mode', (_era, mode) => {
  let fixture: Fixture;
  let client: Client;
  let path: string;
  beforeAll(async () => {
    fixture = await startFixture();
    path = gatewayPath(app, await agentOf(app, [await connectTo(app, fixture.url)], { tool_mode: 'search' }));
    client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${app.apiKey}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(path, app.url), { requestInit }));
  });
  afterAll(async () => {
    await client?.close();
    await fixture?.close();
  });

  it('searches, and calls what it has found, including a tool that requires an argument in a header', async () => {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['search_tools', 'call_tool']);
    const found = await client.callTool({ name: 'search_tools', arguments: { query: 'header parameter' } });
    expect(namesIn(found.structuredContent as unknown as Found)).toContain('test_header_parameter');
    const call = { name: 'test_header_parameter', arguments: { region: 'Zürich' } };
    const { content } = await client.callTool({ name: 'call_tool', arguments: call });
    expect(JSON.stringify(content)).toContain('Zürich');
  });

  it('gets an error as a result if its search is not valid', async () => {
    const result = await client.callTool({ name: 'search_tools', arguments: { query: '' } });
    expect(result).toMatchObject({ isError: true });
  });
});

describe('a request of the modern era without its envelope', () => {
  it('is refused as any other', async () => {
    const path = gatewayPath(app, await agentOf(app, [await upstreams.connection(app, 'Left', 'echo')], SEARCH));
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'search_tools' };
    const body = toolCall('search_tools', { query: 'echo' });
    const answer = await callProxy(app, path, { key: app.apiKey, headers, body });
    expect(answer.status).toBe(400);
    expect(errorIn(answer)).toBeDefined();
  });
});
