import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type McpUpstream, startMcpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import { type Fixture, startFixture } from '../conformance/fixture/start-fixture.js';
import { answer, createAskingAgent, startWaiting } from '../runtime/approvals/approvals.support.js';
import { toolPartsOf } from '../runtime/runs/runs.support.js';
import { createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { modernRequest } from '../support/era-clients.js';
import { eventually } from '../support/eventually.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../support/gateway-agents.js';
import { expectProblem } from '../support/problem.js';
import { callProxy, errorIn, rpcOf } from '../support/proxy-calls.js';
import { auditOf, connectTo, keyWith } from '../support/proxy-connections.js';
import { DEAD_URL } from '../support/upstreams.js';
import { DOCS, SEARCH, text, useDressedTools } from './dressed-tools.support.js';

const REFUSED = { isError: true, _meta: { 'mcp.service': { code: 'invalid_arguments' } } };

const own = useDressedTools();
const { app, dressed, agentWith, sent } = own;

describe('a dressed tool through the gateway', () => {
  it('is listed and called under its own name, without the arguments that it does not show', async () => {
    const path = gatewayPath(app, await agentWith('list', DOCS));
    const { tools } = await listThrough(app, path);
    const { query, filter } = SEARCH.properties;
    expect(tools).toEqual([
      expect.objectContaining({ name: 'list', annotations: { readOnlyHint: true } }),
      {
        name: 'search_docs',
        description: 'Searches the documentation.',
        inputSchema: {
          type: 'object',
          properties: { query, filter: { ...filter, properties: { label: text }, required: [] } },
          required: ['query'],
        },
      },
    ]);
    const { rpc } = await callThrough(app, path, 'search_docs', { query: 'pins', filter: { label: 'a' } });
    expect(rpc.result).toMatchObject({ content: [{ type: 'text' }] });
    expect(sent()).toEqual([['search', { query: 'pins', repo: 'docs', filter: { state: 'open', label: 'a' } }]]);
    expect((await callThrough(app, path, 'search', { repo: 'all', query: 'x' })).rpc.error).toMatchObject({
      data: { code: 'unknown_tool' },
    });
  });

  it.each([
    ['the argument', { query: 'x', repo: 'mine' }],
    ['a variant of its name', { query: 'x', Repo: 'mine' }],
    ['an argument of an object', { query: 'x', filter: { state: 'closed' } }],
    ['an object that is none', { query: 'x', filter: 'closed' }],
    ['a hidden argument', { query: 'x', limit: 1000 }],
    ['a fault in others', { query: 7 }],
  ])('refuses %s', async (_what, args) => {
    const path = gatewayPath(app, await agentWith(DOCS));
    const { rpc, headers } = await callThrough(app, path, 'search_docs', args);
    expect(rpc.result).toMatchObject(REFUSED);
    expect(sent()).toEqual([]);
    const record = { tool_name: 'search', connection_id: own.connectionId, error_code: 'invalid_arguments' };
    expect(await auditOf(app, String(headers['x-request-id']))).toMatchObject(record);

    const searching = await createAgent(app, [], { connections: dressed(DOCS), tool_mode: 'search' });
    const call = { name: 'search_docs', arguments: args };
    expect((await callThrough(app, gatewayPath(app, searching), 'call_tool', call)).rpc.result).toMatchObject(REFUSED);
    expect(sent()).toEqual([]);
  });

  it.each([
    ['its name', 'docs', ['search_docs']],
    ['its description', 'documentation', ['search_docs']],
    ['an argument', 'query', ['search_docs']],
    ['a fixed argument', 'repo', []],
    ['a hidden argument', 'limit', []],
  ])('is searched by what it shows: by %s', async (_what, query, found) => {
    const id = await createAgent(app, [], { connections: dressed('list', DOCS), tool_mode: 'search' });
    const { rpc } = await callThrough(app, gatewayPath(app, id), 'search_tools', { query });
    const content = rpc.result?.['structuredContent'] as { tools: { name: string }[] } | undefined;
    expect(content?.tools.map(({ name }) => name)).toEqual(found);
    expect(JSON.stringify(content)).not.toMatch(/repo|limit|state/);
  });

  it('refuses a request with the argument twice', async () => {
    const path = gatewayPath(app, await agentWith(DOCS));
    const args = '{"query":"x","filter":{"label":"a"},"filter":{"state":"closed"}}';
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":${args}}}`;
    expect(rpcOf(await callProxy(app, path, { key: app.apiKey, body })).error).toMatchObject({
      data: { code: 'invalid_rpc_request' },
    });
    expect(sent()).toEqual([]);
  });

  it('is one of several, each with its own values', async () => {
    const path = gatewayPath(
      app,
      await agentWith('search', DOCS, {
        tool: 'search',
        name: 'search_code',
        arguments: { fixed: { '/repo': 'code' } },
      }),
    );
    expect((await listThrough(app, path)).names).toEqual(['search', 'search_code', 'search_docs']);
    for (const name of ['search_code', 'search_docs']) await callThrough(app, path, name, { query: 'x' });
    await callThrough(app, path, 'search', { repo: 'all', query: 'x' });
    expect(sent()).toEqual([
      ['search', { repo: 'code', query: 'x' }],
      ['search', { repo: 'docs', filter: { state: 'open' }, query: 'x' }],
      ['search', { repo: 'all', query: 'x' }],
    ]);
  });

  it('is permitted under its name for the agent, and under the own one for the connection', async () => {
    const id = await agentWith(DOCS);
    const path = gatewayPath(app, id);
    const outcomeWith = async (permissions: Record<string, string[]>): Promise<unknown> => {
      const key = await keyWith(app, permissions);
      const { names } = await listThrough(app, path, key);
      const { rpc } = await callThrough(app, path, 'search_docs', { query: 'x' }, key);
      return [names, rpc.error === undefined];
    };
    expect(await outcomeWith({ [id]: ['search_docs'] })).toEqual([['search_docs'], true]);
    expect(await outcomeWith({ [own.connectionId]: ['search'] })).toEqual([['search_docs'], true]);
    expect(await outcomeWith({ [id]: ['search'] })).toEqual([[], false]);
    expect(await outcomeWith({ [own.connectionId]: ['search_docs'] })).toEqual([[], false]);
    // Whoever cannot call the tool learns nothing of its arguments.
    const key = await keyWith(app, { [id]: ['list'] });
    const { rpc } = await callThrough(app, path, 'search_docs', { repo: 'mine' }, key);
    expect(rpc.error).toMatchObject({ data: { code: 'permission_denied' } });
  });

  it('keeps its name when another connection has a tool of that name', async () => {
    const other = await startMcpUpstream({ search_docs: { handler: () => 'taken' } });
    try {
      const taken = await connectTo(app, other.url, { title: 'Other' });
      const id = await createAgent(app, [], { connections: [{ connection_id: taken }, ...dressed(DOCS)] });
      const path = gatewayPath(app, id);
      expect((await listThrough(app, path)).names).toEqual(['other_search_docs', 'search_docs']);
      await callThrough(app, path, 'search_docs', { query: 'x' });
      expect(sent()).toHaveLength(1);
      expect(other.calls).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('can be dressed again by an agent outside, whose values do not replace those inside', async () => {
    const inner = await agentWith(DOCS);
    const outside = (args: object) => [
      { connection_id: inner, selected_tools: [{ tool: 'search_docs', name: 'find', arguments: args }] },
    ];
    const outer = await createAgent(app, [], { connections: outside({ fixed: { '/query': 'pins' } }) });
    const path = gatewayPath(app, outer);
    await callThrough(app, path, 'find', {});
    expect(sent()).toEqual([['search', { query: 'pins', repo: 'docs', filter: { state: 'open' } }]]);
    const { rpc } = await callThrough(app, path, 'find', { repo: 'mine' });
    expect(rpc.result).toMatchObject(REFUSED);
    const connections = outside({ fixed: { '/repo': 'mine' } });
    const refused = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Wider', connections } });
    expectProblem(refused, 400, 'invalid_request');
  });
});

describe('an agent around a dressed tool', () => {
  const around = (id: string, fixed: object) => [
    { connection_id: id, selected_tools: [{ tool: 'search', arguments: { fixed } }] },
  ];
  const saving = (id: string, fixed: object) =>
    app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Wider', connections: around(id, fixed) } });

  it.each([
    ['a hidden argument', { hidden: ['/filter/label'] }, { state: 'open', label: 'a' }, 'filter.label is not accepted'],
    ['a variant', { hidden: ['/filter/label'] }, { state: 'open', Label: 'a' }, 'filter.Label is not accepted'],
    ['a fixed argument', { fixed: { '/filter/state': 'open' } }, { state: 'closed' }, 'filter.state is not accepted'],
  ])('is refused if a whole object that it fixes sets %s', async (_what, args, filter, message) => {
    const refused = await saving(await agentWith({ tool: 'search', arguments: args }), { '/filter': filter });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors).toEqual([
      expect.objectContaining({ code: 'tool_mismatch', message: expect.stringContaining(message) }),
    ]);
  });

  it('is refused for it while the tool cannot be listed', async () => {
    const down = await connectTo(app, DEAD_URL, { title: 'Down' });
    const hiding = { tool: 'search', arguments: { hidden: ['/filter/label'] } };
    const inner = await agentOf(app, [{ connection_id: down, selected_tools: [hiding] }] as never);
    expectProblem(await saving(inner, { '/filter': { label: 'a' } }), 400, 'invalid_request');
    await saving(inner, { '/filter': { state: 'open' } }).expect(200);
  });

  it('loses the tool if the agent inside hides later what it sets', async () => {
    const inner = await agentWith('search');
    const fixed = { '/filter': { state: 'open', label: 'a' } };
    const path = gatewayPath(app, await createAgent(app, [], { connections: around(inner, fixed) }));
    const args = { repo: 'docs', query: 'x' };
    await callThrough(app, path, 'search', args);
    expect(sent()).toEqual([['search', { ...args, filter: fixed['/filter'] }]]);
    const connections = dressed({ tool: 'search', arguments: { hidden: ['/filter/label'] } });
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id: inner, data: { connections } });
    expect((await listThrough(app, path)).names).toEqual([]);
    const { rpc } = await callThrough(app, path, 'search', args);
    expect(rpc.error).toMatchObject({ data: { code: 'tool_schema_invalid' } });
    expect(sent()).toHaveLength(1);
  });
});

describe.each([
  ['legacy', 'legacy' as const],
  ['modern', { pin: '2026-07-28' }],
])('a dressed tool for a client of the %s era', (_era, mode) => {
  let client: Client;
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startFixture();
    const connection = await connectTo(app, fixture.url);
    const region = { tool: 'test_header_parameter', name: 'in_zurich', arguments: { fixed: { '/region': 'Zürich' } } };
    const connections = [{ connection_id: connection, selected_tools: [region, 'test_tool_with_progress'] }];
    const url = new URL(gatewayPath(app, await createAgent(app, [], { connections })), app.url);
    client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${app.apiKey}`, 'mcp-param-region': 'Bern' } };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  });
  afterAll(async () => {
    await client?.close();
    await fixture?.close();
  });

  it('sends a fixed argument in its header too, whatever header the caller sends', async () => {
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'in_zurich')?.inputSchema).toMatchObject({ properties: {}, required: [] });
    const { content } = await client.callTool({ name: 'in_zurich', arguments: {} });
    expect(content).toEqual([{ type: 'text', text: 'In Zürich.' }]);
  });
});

describe('the headers that repeat arguments of a dressed tool', () => {
  const zone = { type: 'string', 'x-mcp-header': 'Zone' };
  const place = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
  let routed: McpUpstream;
  let id: string;
  beforeAll(async () => {
    const inputSchema = { type: 'object' as const, properties: { zone, place } };
    routed = await startMcpUpstream({ route: { inputSchema, handler: () => 'done' } });
    id = await connectTo(app, routed.url, { title: 'Routed' });
  });
  beforeEach(() => {
    routed.calls.length = 0;
  });
  afterAll(() => routed?.close());

  /** Those that arrive, whatever the client sends. */
  async function arriving(selected: unknown, more: object, name: string, args: object): Promise<unknown> {
    const connections = [{ connection_id: id, selected_tools: [selected] }];
    const path = gatewayPath(app, await createAgent(app, [], { connections, ...more }));
    const headers = { 'mcp-param-region': 'Bern', 'mcp-param-zone': 'b', 'mcp-param-other': 'c' };
    const request = modernRequest('tools/call', { name, arguments: args }, { headers });
    const answer = await callProxy(app, path, { key: app.apiKey, ...request });
    expect(errorIn(answer)).toBeUndefined();
    expect(routed.calls).toHaveLength(1);
    const arrived = Object.entries(routed.calls[0]?.headers ?? {});
    return Object.fromEntries(arrived.filter(([header]) => header.startsWith('mcp-param-')));
  }

  it.each([
    [
      'a fixed object',
      { fixed: { '/place': { region: 'Zug' } } },
      { 'mcp-param-region': 'Zug', 'mcp-param-zone': 'a' },
    ],
    ['an argument of a hidden object', { hidden: ['/place'] }, { 'mcp-param-zone': 'a' }],
  ])('are those of the arguments that the upstream gets, with %s', async (_what, args, expected) => {
    expect(await arriving({ tool: 'route', arguments: args }, {}, 'route', { zone: 'a' })).toEqual(expected);
  });

  it('are those of the call that call_tool stands for', async () => {
    const call = { name: 'route', arguments: { zone: 'a' } };
    expect(await arriving('route', { tool_mode: 'search' }, 'call_tool', call)).toEqual({ 'mcp-param-zone': 'a' });
  });
});

describe('a dressed tool in a run', () => {
  async function run(agentId: string, message: string): Promise<unknown> {
    const thread = await ThreadClient.create(app, agentId);
    const stream = await thread.stream();
    const taskId = await thread.postMessage(message);
    const { parts } = await thread.expectWhole(taskId, await stream.collectUntilDone());
    return toolPartsOf(parts);
  }

  it('is called with what is fixed, and refuses what is not shown', async () => {
    const id = await agentWith(DOCS);
    expect(await run(id, '/call search_docs {"query":"x"}')).toMatchObject([
      { toolName: 'search_docs', input: { query: 'x' }, state: 'output-available' },
    ]);
    expect(sent()).toEqual([['search', { query: 'x', repo: 'docs', filter: { state: 'open' } }]]);
    expect(await run(id, '/call search_docs {"query":"x","repo":"mine"}')).toMatchObject([
      { state: 'output-error', errorText: expect.stringContaining('arguments.repo is not accepted') },
    ]);
    expect(own.upstream.calls).toHaveLength(1);
  });

  it('is refused once its upstream changes during the run so that a fixed argument is gone', async () => {
    const searching = (argument: string) => ({
      inputSchema: { type: 'object' as const, properties: { [argument]: text } },
      handler: () => 'found',
    });
    const changing: McpUpstream = await startMcpUpstream({
      search: searching('repo'),
      change: {
        handler: async () => {
          changing.tools['search'] = searching('repository');
          await succeed(app, 'CONNECTION_TEST', { id: agent });
          return 'changed';
        },
      },
    });
    const id = await connectTo(app, changing.url, { title: 'Changing' });
    const fixing = { tool: 'search', arguments: { fixed: { '/repo': 'docs' } } };
    const connections = [{ connection_id: id, selected_tools: ['change', fixing] }];
    const agent = await createAgent(app, [], { connections });
    try {
      const parts = await run(agent, '/call search {}\n/call change {}\n/call search {}');
      expect(parts).toMatchObject([
        { toolName: 'search', state: 'output-available' },
        { toolName: 'change', state: 'output-available' },
        { toolName: 'search', state: 'output-error', errorText: expect.stringContaining('has no argument /repo') },
      ]);
      expect(changing.calls.map(({ tool }) => tool)).toEqual(['search', 'change']);
    } finally {
      await changing.close();
    }
  });

  it('asks by the rules of both names, shows all arguments, and asks again when a value changes', async () => {
    const asking = (repo: string) => [
      {
        connection_id: own.connectionId,
        selected_tools: [{ ...DOCS, arguments: { fixed: { '/repo': repo } } }],
        approval: ['search'],
      },
    ];
    const id = await createAgent(app, [], { connections: asking('docs') });
    const { thread, taskId, stream, approvals } = await startWaiting(app, id, '/call search_docs {"query":"x"}');
    expect(approvals).toMatchObject([
      { tool_name: 'search_docs', upstream_tool: 'search', input: { query: 'x', repo: 'docs' } },
    ]);
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections: asking('secrets') } });
    await answer(app, thread.id, approvals[0]?.id ?? '', { approved: true }).expect(202);
    const again = await eventually(async () => {
      const [pending] = (await thread.run(taskId)).pending_approvals;
      return pending !== undefined && pending.id !== approvals[0]?.id && pending;
    });
    expect(again).toMatchObject({ input: { query: 'x', repo: 'secrets' } });
    expect(sent()).toEqual([]);
    await answer(app, thread.id, again.id, { approved: true }).expect(202);
    await stream.collectUntilDone();
    expect(sent()).toEqual([['search', { query: 'x', repo: 'secrets' }]]);

    const outer = await createAskingAgent(app, await agentWith(DOCS, 'list'), ['search_docs']);
    const [member] = asking('docs');
    const plain = await createAgent(app, [], { connections: [{ ...member, approval: ['search_docs'] }] });
    for (const agent of [outer, plain]) {
      const waiting = await startWaiting(app, agent, '/call search_docs {"query":"x"}');
      expect(waiting.approvals).toMatchObject([{ tool_name: 'search_docs' }]);
      await waiting.thread.cancel();
    }
  });
});
