import { afterEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { succeed } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { openLegacyClient } from '../../support/field-clients.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, pathOf, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { auditOf, connectTo, keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { legacyServer, sendResult } from '../../support/scripted-upstream.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { DEAD_URL, Upstreams } from '../../support/upstreams.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(newTenant);
const upstreams = new Upstreams();

afterEach(() => upstreams.close());

const connection = (title: string, ...tools: string[]): Promise<string> => upstreams.connection(app, title, ...tools);
const listOf = (agentId: string, key?: string) => listThrough(app, gatewayPath(app, agentId), key);
const say = (agentId: string, name: string, key?: string) =>
  callThrough(app, gatewayPath(app, agentId), name, { text: 'hello' }, key);

describe('names', () => {
  it('stay unchanged while they are unique, otherwise get a prefix, and are shown by COLLECTION_VIRTUAL_MCP_GET', async () => {
    const [left, right] = [await connection('Left', 'echo', 'only'), await connection('Right', 'echo')];
    const id = await agentOf(app, [left, { connection_id: right, prefix: 'r' }]);
    expect((await listOf(id)).names).toEqual(['left_echo', 'only', 'r_echo']);
    expect((await say(id, 'r_echo')).rpc.result).toEqual({ content: [{ type: 'text', text: 'echo says hello' }] });
    expect(await succeed(app, 'COLLECTION_VIRTUAL_MCP_GET', { id })).toMatchObject({
      tools: [
        { name: 'left_echo', connection_id: left, upstream_name: 'echo' },
        { name: 'only', connection_id: left, upstream_name: 'only' },
        { name: 'r_echo', connection_id: right, upstream_name: 'echo' },
      ],
    });
  });

  it('do not change when an upstream becomes unavailable', async () => {
    const [left, right] = [await upstreams.serve('echo', 'left'), await upstreams.serve('echo', 'right')];
    const [a, b] = [
      await connectTo(app, left.url, { title: 'Left' }),
      await connectTo(app, right.url, { title: 'Right' }),
    ];
    const id = await agentOf(app, [a, b]);
    expect((await listOf(id)).names).toEqual(['left', 'left_echo', 'right', 'right_echo']);
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: b, data: { status: 'inactive' } });
    const without = await listOf(id);
    expect(without.names).toEqual(['left', 'left_echo']);
    expect(without.unavailable).toEqual([{ connectionId: b, title: 'Right', reason: 'The connection is inactive.' }]);
    const answer = await say(id, 'right_echo');
    expect([answer.status, answer.rpc.error?.data.code]).toEqual([503, 'connection_unavailable']);
  });
});

describe('connections that do not work', () => {
  it('lose only their own tools, and are reported', async () => {
    const slow = await upstreams.scripted(() => undefined);
    const dead = await connectTo(app, DEAD_URL, { title: 'Dead' });
    const silent = await connectTo(app, slow.url, { title: 'Silent', timeout: 1000 });
    const id = await agentOf(app, [dead, silent, await connection('Live', 'echo')]);
    const { names, unavailable } = await listOf(id);
    expect(names).toEqual(['echo']);
    expect(unavailable).toEqual([
      { connectionId: dead, title: 'Dead', reason: expect.stringContaining('refused') },
      { connectionId: silent, title: 'Silent', reason: expect.stringContaining('1000 ms') },
    ]);
    expect((await say(id, 'echo')).rpc.result).toBeDefined();
  });

  it('are listed concurrently', async () => {
    const count = 20;
    const waiting: (() => void)[] = [];
    // None of them answers before all have received the request.
    const { script } = legacyServer((request, response) => {
      const tools = [{ name: 'late', inputSchema: { type: 'object' } }];
      waiting.push(() => sendResult(response, request.message, { tools }));
      if (waiting.length === count) for (const answer of waiting) answer();
    });
    const server = await upstreams.scripted(script);
    const titles = Array.from({ length: count }, (_, i) => `Late ${i}`);
    const members = await Promise.all(titles.map((title) => connectTo(app, server.url, { title })));
    const { names, unavailable } = await listOf(await agentOf(app, members));
    expect([names.length, unavailable]).toEqual([count, []]);
  });

  it('in status `error` are left out until they work again', async () => {
    let isDown = false;
    const { script } = legacyServer(({ message }, response) => {
      if (isDown) response.writeHead(503).end();
      else sendResult(response, message, { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
    });
    const server = await upstreams.scripted(script);
    const member = await connectTo(app, server.url, { title: 'Member' });
    const id = await agentOf(app, [member]);
    expect((await listOf(id)).names).toEqual(['echo']);
    isDown = true;
    await succeed(app, 'CONNECTION_TEST', { id: member });
    expect(await listOf(id)).toMatchObject({ names: [], unavailable: [{ connectionId: member, title: 'Member' }] });
    isDown = false;
    await eventually(async () => expect((await listOf(id)).names).toHaveLength(1));
  });
});

describe('a session', () => {
  it('gets notifications of changed tools, belongs to its caller, and can be ended', async () => {
    const [server, added] = [await upstreams.serve('echo'), await connection('Added', 'added')];
    const member = await connectTo(app, server.url);
    const id = await agentOf(app, [member]);
    const client = await openLegacyClient({ url: `${app.url}${gatewayPath(app, id)}`, apiKey: app.apiKey });
    const changes = () => client.notified.filter(({ method }) => method === 'notifications/tools/list_changed').length;
    const namesOf = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await namesOf()).toEqual(['echo']);
    let held = [member];
    // A change before the client's stream is open is not reported, so it is repeated.
    await eventually(async () => {
      held = held.length === 1 ? [member, added] : [member];
      const connections = held.map((connection_id) => ({ connection_id }));
      await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } });
      await sleep(300);
      expect(changes()).toBeGreaterThan(0);
    });
    expect(await namesOf()).toEqual(held.length === 1 ? ['echo'] : ['echo', 'added']);

    const before = changes();
    server.tools = ['renamed'];
    // A call of an unknown tool makes the service read the list again.
    await eventually(async () => {
      await callThrough(app, pathOf(app, member), 'renamed');
      expect(await namesOf()).toContain('renamed');
    });
    await eventually(() => expect(changes()).toBeGreaterThan(before));

    const headers = { 'mcp-session-id': client.sessionId() ?? '' };
    const foreign = await keyWith(app, { '*': ['*'] });
    const body = rpc('tools/list');
    expect((await callProxy(app, gatewayPath(app, id), { key: foreign, headers, body })).status).toBe(404);
    expect((await callProxy(app, gatewayPath(app, id), { key: app.apiKey, headers, body })).status).toBe(200);
    expect((await callProxy(app, gatewayPath(app, id), { key: app.apiKey, method: 'GET' })).status).toBe(405);
    await client.terminateSession();
    await client.close();
  });
});

describe('a subscription of the modern era', () => {
  it('gets the notifications of its agent, and ends with its credential', async () => {
    const [member, added] = [await connection('Member', 'echo'), await connection('Added', 'added')];
    const [id, otherId] = [await agentOf(app, [member]), await agentOf(app, [member])];
    const data = { name: 'short', permissions: { '*': ['*'] } };
    const { id: keyId, key } = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', data);
    const versionNegotiation = { mode: { pin: '2026-07-28' } };
    const told: string[] = [];
    const listening = async (agentId: string) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
      const requestInit = { headers: { authorization: `Bearer ${key}` } };
      client.setNotificationHandler('notifications/tools/list_changed', () => void told.push(agentId));
      await client.connect(
        new StreamableHTTPClientTransport(new URL(gatewayPath(app, agentId), app.url), { requestInit }),
      );
      return client.listen({ toolsListChanged: true });
    };
    const [subscription, other] = [await listening(id), await listening(otherId)];
    let held = [member];
    await eventually(async () => {
      held = held.length === 1 ? [member, added] : [member];
      const connections = held.map((connection_id) => ({ connection_id }));
      await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } });
      await sleep(300);
      expect(told.length).toBeGreaterThan(0);
    });
    expect(new Set(told)).toEqual(new Set([id]));
    await other.close();
    await succeed(app, 'API_KEY_DELETE', { id: keyId });
    expect(await subscription.closed).toBe('remote');
  });
});

describe('permission to use it', () => {
  it.each([
    ['by the agent, under the composed name', (agent: string) => ({ [agent]: ['left_echo'] })],
    ['by the connection, under its own name', (_agent: string, left: string) => ({ [left]: ['echo'] })],
  ])('is granted %s', async (_title, permissionsFor) => {
    const [left, right] = [await connection('Left', 'echo', 'more'), await connection('Right', 'echo')];
    const id = await agentOf(app, [left, right]);
    const key = await keyWith(app, permissionsFor(id, left));
    expect((await listOf(id, key)).names).toEqual(['left_echo']);
    const allowed = await say(id, 'left_echo', key);
    expect(allowed.rpc.result).toBeDefined();
    expect(await auditOf(app, String(allowed.headers['x-request-id']))).toMatchObject({
      door: 'gateway',
      connection_id: left,
      agent_id: id,
      tool_name: 'echo',
      status: 'success',
    });
    for (const name of ['right_echo', 'more', 'no-such', 'echo']) {
      const refused = await say(id, name, key);
      expect([refused.status, refused.rpc.error?.data.code]).toEqual([403, 'permission_denied']);
      expect(await auditOf(app, String(refused.headers['x-request-id']))).toMatchObject({
        agent_id: id,
        status: 'denied',
      });
    }
  });

  it('is limited to public tools for callers without a credential', async () => {
    const { script } = legacyServer((request, response) => {
      if (request.message.method === 'tools/call') return sendResult(response, request.message, { content: [] });
      const inputSchema = { type: 'object' };
      const open = { name: 'open', inputSchema, _meta: { 'mcp.service': { public_tool: true } } };
      return sendResult(response, request.message, { tools: [open, { name: 'closed', inputSchema }] });
    });
    const server = await upstreams.scripted(script);
    const member = await connectTo(app, server.url);
    const id = await agentOf(app, [member]);
    const path = gatewayPath(app, id);
    const listed = rpcOf(await callProxy(app, path, { body: rpc('tools/list') }));
    expect(listed.result?.tools?.map(({ name }) => name)).toEqual(['open']);
    expect((await callProxy(app, path, { body: toolCall('open') })).status).toBe(200);
    const closed = await callProxy(app, path, { body: toolCall('closed') });
    expect(closed.status).toBe(401);
    expect(closed.headers['www-authenticate']).toBe(
      `Bearer realm="mcp",resource_metadata="${app.url}${path}/.well-known/oauth-protected-resource"`,
    );
    const metadata = await callProxy(app, `${path}/.well-known/oauth-protected-resource`, { method: 'GET' });
    expect(JSON.parse(metadata.text)).toMatchObject({ resource: `${app.url}${path}` });
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: member, data: { public_tools: 'ignore' } });
    expect((await callProxy(app, path, { body: rpc('tools/list') })).status).toBe(401);
  });

  it('is refused for unknown agents, connections, foreign organizations and inactive agents', async () => {
    const member = await connection('Member', 'echo');
    const id = await agentOf(app, [member]);
    for (const path of [gatewayPath(app, randomUUID()), gatewayPath(app, 'x'), gatewayPath(app, member)]) {
      const answer = await callProxy(app, path, { key: app.apiKey, body: rpc('tools/list') });
      expect([answer.status, rpcOf(answer).error?.data.code]).toEqual([404, 'not_found']);
      expect((await callProxy(app, path, { body: rpc('tools/list') })).status).toBe(401);
    }
    const other = await startSecondOrganization(app, 'elsewhere');
    const grants = { name: 'other', permissions: { '*': ['*'] } };
    const otherKey = ((await other.tool('API_KEY_CREATE', grants)).body as { key: string }).key;
    const foreign = gatewayPath({ org: other.slug }, id);
    expect((await callProxy(app, foreign, { key: app.apiKey, body: rpc('tools/list') })).status).toBe(403);
    expect((await callProxy(app, foreign, { key: otherKey, body: rpc('tools/list') })).status).toBe(404);
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { status: 'inactive' } });
    expect((await callProxy(app, gatewayPath(app, id), { key: app.apiKey, body: rpc('tools/list') })).status).toBe(503);
    expect((await say(id, 'echo')).status).toBe(503);
  });
});

describe('an agent as a connection', () => {
  it('answers call-tool with one JSON body', async () => {
    const id = await agentOf(app, [await connection('Left', 'echo'), await connection('Right', 'echo')]);
    for (const path of [`${pathOf(app, id)}/call-tool/left_echo`, `/mcp/${id}/call-tool/left_echo`]) {
      const answer = await callProxy(app, path, { key: app.apiKey, body: { text: 'hello' } });
      expect([answer.status, answer.headers['content-type']]).toEqual([
        200,
        expect.stringMatching(/^application\/json\b/),
      ]);
      expect(rpcOf(answer).result?.content?.[0]?.text).toBe('echo says hello');
    }
    const path = `${pathOf(app, id)}/call-tool/echo`;
    expect(rpcOf(await callProxy(app, path, { key: app.apiKey, body: {} })).error?.data.code).toBe('unknown_tool');
  });

  it('gives 200 concurrent callers with the same id their own answers', async () => {
    const id = await agentOf(app, [await connection('Left', 'echo'), await connection('Right', 'echo')]);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        callThrough(app, gatewayPath(app, id), n % 2 ? 'left_echo' : 'right_echo', { text: String(n) }),
      ),
    );
    const texts = answers.map(({ rpc: { id, result } }) => [id, result?.content?.[0]?.text]);
    expect(texts).toEqual(answers.map((_, n) => [1, `echo says ${n}`]));
  });
});
