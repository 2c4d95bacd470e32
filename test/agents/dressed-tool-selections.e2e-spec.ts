import { describe, expect, it } from '@jest/globals';
import { startMcpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import { succeed } from '../support/agent-runs.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../support/gateway-agents.js';
import { expectProblem } from '../support/problem.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { useStarted } from '../support/use-started.js';
import { DOCS, SEARCH, useDressedTools } from './dressed-tools.support.js';

const own = useDressedTools();
const { app, dressed, agentWith, sent } = own;

describe('a dressing that does not fit its tool', () => {
  const misfits: [string, object, string][] = [
    ['a value of another type', { fixed: { '/repo': 7 } }, 'repo must be string'],
    ['a value that is not offered', { fixed: { '/filter/state': 'lost' } }, 'must be one of "open", "closed"'],
    ['an argument that is not there', { fixed: { '/repository': 'docs' } }, 'has no argument /repository'],
    ['a hidden argument that is required', { hidden: ['/repo'] }, 'requires the hidden argument /repo'],
  ];

  it.each(misfits)('is refused when it is saved: %s', async (_what, args, message) => {
    const data = { title: 'Misfit', connections: dressed('list', { tool: 'search', arguments: args }) };
    const refused = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors).toEqual([
      {
        path: 'data.connections[0].selected_tools[1]',
        code: 'tool_mismatch',
        message: expect.stringContaining(message),
      },
    ]);
    const id = await agentWith('list');
    const { connections } = data;
    const updated = await app.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } });
    expectProblem(updated, 400, 'invalid_request');
  });

  it('says nothing of the schema to a caller who cannot call the tool', async () => {
    const key = await keyWith(app, { self: ['COLLECTION_VIRTUAL_MCP_CREATE'] });
    const data = { title: 'Probe', connections: dressed({ tool: 'search', arguments: { fixed: { '/repo': 7 } } }) };
    expectProblem(await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data }, key), 403, 'permission_widening');
  });

  it('is refused to a caller who can call what an agent inside selects', async () => {
    const inner = await agentWith('search');
    const key = await keyWith(app, { [own.connectionId]: ['search'], self: ['COLLECTION_VIRTUAL_MCP_CREATE'] });
    const connections = [
      { connection_id: inner, selected_tools: [{ tool: 'search', arguments: { fixed: { '/repo': 7 } } }] },
    ];
    const refused = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Outer', connections } }, key);
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors).toMatchObject([{ code: 'tool_mismatch' }]);
  });

  it.each(misfits)('makes a tool that changes later unavailable: %s', async (_what, args, message) => {
    const changing = await startMcpUpstream({ search: { handler: () => 'found' }, list: { handler: () => 'listed' } });
    changing.tools['search'] = {
      inputSchema: { type: 'object', properties: { repo: {}, repository: {}, filter: { properties: { state: {} } } } },
      handler: () => 'found',
    };
    try {
      const id = await connectTo(app, changing.url, { title: 'Changing' });
      const connections = [{ connection_id: id, selected_tools: ['list', { tool: 'search', arguments: args }] }];
      const agent = await agentOf(app, connections as never);
      const path = gatewayPath(app, agent);
      expect((await listThrough(app, path)).names).toEqual(['list', 'search']);
      changing.tools['search'] = { inputSchema: SEARCH, handler: () => 'found' };
      const reason = expect.stringContaining(message);
      const check = { ok: false, tools: 1, error: reason };
      expect(await succeed(app, 'CONNECTION_TEST', { id: agent })).toMatchObject(check);
      expect((await listThrough(app, path)).names).toEqual(['list']);
      expect((await listThrough(app, path)).unavailable).toEqual([{ connectionId: id, title: 'Changing', reason }]);
      const called = await callThrough(app, path, 'search', { query: 'x' });
      expect(called.rpc.error).toMatchObject({ data: { code: 'tool_schema_invalid' }, message: reason });
      expect(changing.calls).toEqual([]);
    } finally {
      await changing.close();
    }
  });

  it('is not known while the connection cannot be listed: then the values are put in all the same', async () => {
    const id = await connectTo(app, 'http://127.0.0.1:9/mcp', { title: 'Down' });
    const connections = [{ connection_id: id, selected_tools: [DOCS] }];
    const agent = await agentOf(app, connections as never);
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { connection_url: own.upstream.url } });
    await callThrough(app, gatewayPath(app, agent), 'search_docs', { query: 'x' });
    expect(sent()).toEqual([['search', { query: 'x', repo: 'docs', filter: { state: 'open' } }]]);
  });
});

describe('the selection of dressed tools', () => {
  it('is returned as it was given', async () => {
    const selected = ['list', DOCS, { tool: 'search', arguments: { fixed: { '/repo': 'a' } } }];
    const id = await agentWith(...selected);
    const { item, tools } = await succeed<{ item: { connections: object[] }; tools: object[] }>(
      app,
      'COLLECTION_VIRTUAL_MCP_GET',
      { id },
    );
    expect(item.connections).toMatchObject([{ selected_tools: selected }]);
    expect(tools).toEqual([
      { name: 'list', connection_id: own.connectionId, upstream_name: 'list' },
      { name: 'search', connection_id: own.connectionId, upstream_name: 'search' },
      { name: 'search_docs', connection_id: own.connectionId, upstream_name: 'search' },
    ]);
  });

  it.each<[string, unknown[]]>([
    ['neither a name nor an object', [7]],
    ['a list', [['search']]],
    ['null', [null]],
    ['no tool', [{ name: 'x' }]],
    ['an empty tool', [{ tool: '' }]],
    ['an unknown property', [{ tool: 'search', title: 'x' }]],
    ['an unknown property of its arguments', [{ tool: 'search', arguments: { fix: {} } }]],
    ['a name that models do not take', [{ tool: 'search', name: 'a b' }]],
    ['a name that is too long', [{ tool: 'search', name: 'a'.repeat(65) }]],
    ['a description that is too long', [{ tool: 'search', description: 'a'.repeat(10_001) }]],
    ['the name of another tool', ['list', { tool: 'search', name: 'list' }]],
    ['the same tool twice under one name', ['search', { tool: 'search', description: 'x' }]],
    ['a path that is no pointer', [{ tool: 'search', arguments: { fixed: { repo: 'a' } } }]],
    ['the whole as a path', [{ tool: 'search', arguments: { fixed: { '': {} } } }]],
    ['a wrong escape', [{ tool: 'search', arguments: { hidden: ['/a~2'] } }]],
    ['a path of nine names', [{ tool: 'search', arguments: { hidden: ['/a'.repeat(9)] } }]],
    ['a path in another', [{ tool: 'search', arguments: { fixed: { '/filter': {} }, hidden: ['/filter/state'] } }]],
    ['a path twice', [{ tool: 'search', arguments: { hidden: ['/limit', '/limit'] } }]],
    ['hidden arguments that are no list', [{ tool: 'search', arguments: { hidden: '/limit' } }]],
    ['fixed arguments that are a list', [{ tool: 'search', arguments: { fixed: ['/limit'] } }]],
    [
      '101 hidden arguments',
      [{ tool: 'search', arguments: { hidden: Array.from({ length: 101 }, (_, i) => `/${i}`) } }],
    ],
    ['a value with NUL', [{ tool: 'search', arguments: { fixed: { '/repo': 'a\0' } } }]],
    ['more than 128 KiB', [{ tool: 'search', arguments: { fixed: { '/repo': 'a'.repeat(131_072) } } }]],
  ])('is refused with %s', async (_what, selected) => {
    const data = { title: 'Refused', connections: dressed(...selected) };
    const refused = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors[0].path).toContain('data.connections');
  });

  it('needs the permission for a tool that is dressed differently, in whatever order its keys are', async () => {
    const id = await agentWith('list', DOCS);
    const key = await keyWith(app, { self: ['COLLECTION_VIRTUAL_MCP_UPDATE'] });
    const update = (...selected: unknown[]) =>
      app.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections: dressed(...selected) } }, key);
    const reordered = Object.fromEntries(Object.entries(DOCS).toReversed());
    await update(reordered, 'list').expect(200);
    await update(DOCS).expect(200);
    for (const other of ['search', { ...DOCS, name: 'other' }, { ...DOCS, arguments: {} }]) {
      expectProblem(await update(other), 403, 'permission_widening');
    }
  });
});

describe('a tool with a long definition', () => {
  const large = useStarted(async () => {
    const description = 'x'.repeat(7 * 1024 * 1024);
    const upstream = await startMcpUpstream({ read: { description, handler: () => 'read' } });
    const id = await connectTo(app, upstream.url, { title: 'Large' });
    const selecting = (...selected_tools: unknown[]) => agentOf(app, [{ connection_id: id, selected_tools }] as never);
    return { selecting, close: () => upstream.close() };
  });
  const tooLarge = { ok: false, error: expect.stringContaining('would exceed 32 MiB') };
  const names = (count: number) => Array.from({ length: count }, (_, i) => ({ tool: 'read', name: `read_${i}` }));

  it('is not dressed so often that its copies fill the memory', async () => {
    expect(await succeed(app, 'CONNECTION_TEST', { id: await large.selecting(...names(4)) })).toMatchObject({
      tools: 4,
    });
    const agent = await large.selecting(...names(5));
    expect(await succeed(app, 'CONNECTION_TEST', { id: agent })).toMatchObject(tooLarge);
    expect((await listThrough(app, gatewayPath(app, agent))).names).toEqual([]);
  });

  it('is not listed for more agents inside than fit into a list', async () => {
    const inner = await Promise.all(Array.from({ length: 5 }, () => large.selecting('read')));
    const agent = await agentOf(app, inner.map((connection_id) => ({ connection_id })) as never);
    expect(await succeed(app, 'CONNECTION_TEST', { id: agent })).toMatchObject({ ...tooLarge, tools: 4 });
  });
});
