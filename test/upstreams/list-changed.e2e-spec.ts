import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnswerBudget } from '../../src/core/answers/answer-budget.js';
import { AnswerRooms } from '../../src/core/answers/answer-room.js';
import { StdioProcesses } from '../../src/upstreams/stdio/stdio-processes.js';
import { StdioUpstream } from '../../src/upstreams/stdio/stdio-upstream.js';
import { succeed } from '../support/agent-runs.js';
import { newTenant } from '../support/tenant.js';
import { connectListening } from '../support/era-clients.js';
import { type ChangingServer, startLegacyServer, startModernServer } from '../support/changing-server.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../support/gateway-agents.js';
import { callProxy, pathOf, rpc, rpcOf } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { useStarted } from '../support/use-started.js';

const GROWING_SERVER = new URL('../support/stdio-fixtures/growing-server.mjs', import.meta.url).pathname;
/** Less than the 30 s after which prompts would be refreshed without an announcement, and tools after 60 s. */
const SEEN_MS = 15_000;
const ERAS = [
  ['legacy', () => startLegacyServer()],
  ['modern', () => startModernServer()],
] as const;

const app = useStarted(newTenant);
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function started(start: () => Promise<ChangingServer>): Promise<ChangingServer> {
  const server = await start();
  closing.push(() => server.close());
  return server;
}

const namesOf = async (path: string) => (await listThrough(app, path)).names;

async function promptsOf(path: string): Promise<string[]> {
  const answer = await callProxy(app, path, { key: app.apiKey, body: rpc('prompts/list') });
  const { prompts } = rpcOf(answer).result as unknown as { prompts: { name: string }[] };
  return prompts.map(({ name }) => name);
}

/** Creates an agent over one server, after its first list, when the service listens. */
async function listenedTo(server: ChangingServer): Promise<{ connectionId: string; agent: string; agentId: string }> {
  const connectionId = await connectTo(app, server.url);
  const agentId = await agentOf(app, [connectionId]);
  const agent = gatewayPath(app, agentId);
  expect(await namesOf(agent)).toEqual(['first']);
  await eventually(() => expect(server.streams()).toHaveLength(1));
  return { connectionId, agent, agentId };
}

describe.each(ERAS)('An HTTP upstream of the %s era', (_era, start) => {
  it('can announce a change of its lists, on a single stream', async () => {
    const server = await started(start);
    const { connectionId, agent } = await listenedTo(server);
    expect(await promptsOf(agent)).toEqual(['first']);
    server.offered.tools = ['first', 'second'];
    server.offered.prompts = ['first', 'second'];
    // The subscription may not be active yet when the request for the stream has just arrived.
    await eventually(async () => {
      await server.announce('tools');
      expect(await namesOf(agent)).toContain('second');
    }, SEEN_MS);
    await eventually(async () => {
      await server.announce('prompts');
      expect(await promptsOf(agent)).toContain('second');
    }, SEEN_MS);
    expect(await namesOf(pathOf(app, connectionId))).toEqual(['first', 'second']);
    expect((await callThrough(app, agent, 'second')).rpc.result).toBeDefined();
    expect(server.streams()).toHaveLength(1);
  });

  it('that was restarted gets new list requests and a new stream', async () => {
    const server = await started(start);
    const { agent } = await listenedTo(server);
    // The stream must be open before it can end.
    server.offered.tools = ['first', 'heard'];
    await eventually(async () => {
      await server.announce('tools');
      expect(await namesOf(agent)).toContain('heard');
    }, SEEN_MS);
    server.offered.tools = ['second'];
    await server.restart();
    await eventually(async () => expect((await namesOf(agent)).join()).toBe('second'), SEEN_MS);
    await eventually(() => expect(server.streams().length).toBeGreaterThanOrEqual(2));
    server.offered.tools = ['third'];
    await eventually(async () => {
      await server.announce('tools');
      expect((await namesOf(agent)).join()).toBe('third');
    }, SEEN_MS);
  });

  it('has no stream with replaced credentials', async () => {
    const server = await started(start);
    const { connectionId, agent } = await listenedTo(server);
    const data = { connection_token: 'another' };
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: connectionId, data });
    await callThrough(app, agent, 'first');
    await eventually(() => expect(server.streams()).toHaveLength(2));
    const [old, present] = server.streams();
    await old?.hungUp;
    expect([old, present].map((stream) => stream?.headers.authorization)).toEqual([undefined, 'Bearer another']);
  });
});

describe('An HTTP upstream of the legacy era', () => {
  it.each([
    ['deactivated', 'COLLECTION_CONNECTIONS_UPDATE', { data: { status: 'inactive' } }],
    ['deleted', 'COLLECTION_CONNECTIONS_DELETE', {}],
  ])('has no stream when its connection is %s', async (_what, tool, more) => {
    const server = await started(() => startLegacyServer());
    const { connectionId } = await listenedTo(server);
    await succeed(app, tool, { id: connectionId, ...more });
    expect(await server.streams()[0]?.hungUp).toBe(true);
    expect(server.streams()).toHaveLength(1);
  });

  describe('that refuses the request for a stream', () => {
    const refusals: [what: string, status: number, body: string][] = [
      ['405', 405, ''],
      ['409', 409, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Conflict"},"id":null}'],
      ['404, although it knows the session', 404, 'Cannot GET /mcp'],
      ['500', 500, ''],
    ];
    const refusing = new Map<string, ChangingServer>();

    beforeAll(async () => {
      await Promise.all(
        refusals.map(async ([what, status, body]) => {
          const server = await startLegacyServer((response) => void response.writeHead(status).end(body));
          refusing.set(what, server);
          const { agent } = await listenedTo(server);
          for (let call = 0; call < 5; call++) expect((await callThrough(app, agent, 'first')).status).toBe(200);
        }),
      );
      await sleep(2_500);
    });
    afterAll(async () => {
      for (const server of refusing.values()) await server.close();
    });

    it.each(refusals)('with %s gets no second one, and works', (what) => {
      const server = refusing.get(what);
      expect(server?.streams()).toHaveLength(1);
      // The service's own session, which listens, and the caller's.
      expect(server?.calls('initialize')).toHaveLength(2);
    });
  });

  it('that floods the stream loses it, and its connection works', async () => {
    const event = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
    const server = await started(() =>
      startLegacyServer(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        while (!response.destroyed) {
          response.write(event.repeat(100));
          await sleep(1);
        }
      }),
    );
    const { agent } = await listenedTo(server);
    expect(await server.streams()[0]?.hungUp).toBe(true);
    await sleep(3_000);
    expect(server.streams()).toHaveLength(1);
    // At most one list request every 2 s, however often it announces a change.
    expect(server.calls('tools/list').length).toBeLessThanOrEqual(4);
    expect((await callThrough(app, agent, 'first')).status).toBe(200);
  });

  it('that sends an endless event loses its stream, and does not fill the memory', async () => {
    const server = await started(() =>
      startLegacyServer(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: ');
        const piece = 'x'.repeat(64 * 1024);
        while (!response.destroyed) {
          response.write(piece);
          await sleep(1);
        }
      }),
    );
    await listenedTo(server);
    expect(await server.streams()[0]?.hungUp).toBe(true);
  });

  it('that sends a ping on the stream gets an answer', async () => {
    const server = await started(() =>
      startLegacyServer((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"jsonrpc":"2.0","id":"are-you-there","method":"ping"}\n\n');
      }),
    );
    await listenedTo(server);
    await eventually(() => server.requests.some(({ message }) => message.id === 'are-you-there'));
    const pong = server.requests.find(({ message }) => message.id === 'are-you-there');
    expect(pong?.message).toEqual({ jsonrpc: '2.0', id: 'are-you-there', result: {} });
  });
});

describe.each([
  ['legacy', []],
  ['modern', ['--modern']],
])('A program of the %s era', (_era, options) => {
  it('can announce a change of its tools, where callers share its state', async () => {
    const stdio = { command: 'node', args: [GROWING_SERVER, ...options], cwd: process.cwd() };
    const data = { title: 'Growing', connection_type: 'STDIO', stdio, shared_state: true };
    const { item } = await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data });
    const agent = gatewayPath(app, await agentOf(app, [item.id]));
    expect(await namesOf(agent)).toEqual(['first']);
    expect((await callThrough(app, agent, 'first')).rpc.result).toBeDefined();
    await eventually(async () => expect(await namesOf(agent)).toContain('second'), SEEN_MS);
    expect(await namesOf(pathOf(app, item.id))).toEqual(['first', 'second']);
  });
});

it('A subscription does not keep an unused program running', async () => {
  const environment = { PATH: process.env['PATH'] ?? '' };
  const programs = new StdioProcesses({
    maxProcesses: 1,
    idleMs: 200,
    maxMemoryBytes: 2 ** 30,
    environment,
    hasOthers: async () => false,
    rooms: new AnswerRooms(new AnswerBudget()),
  });
  closing.push(() => programs.onApplicationShutdown());
  const ended = jest.fn();
  const start = programs.start.bind(programs);
  programs.start = (target, { onLine, onCostlyAnswer }, holder) =>
    start(target, { onLine, onCostlyAnswer, onEnd: ended }, holder);
  const identity = { connectionId: 'c1', revision: '1', timeoutMs: 20_000 };
  const run = { command: 'node', args: [GROWING_SERVER, '--modern'], env: {}, cwd: process.cwd() };
  const upstream = new StdioUpstream(
    { kind: 'stdio', organizationId: 'o', ...identity, ...run },
    programs,
    () => undefined,
  );
  await upstream.listTools();
  expect(upstream.protocolVersion).toBe('2026-07-28');
  await eventually(() => expect(ended.mock.calls.length).toBeGreaterThan(0));
});

describe('A listener to an agent', () => {
  interface Listener {
    readonly told: string[];
    readonly promises: unknown;
  }
  const LISTS = ['tools', 'prompts'] as const;
  const methodOf = <K extends (typeof LISTS)[number]>(kind: K) => `notifications/${kind}/list_changed` as const;

  async function legacyListener(path: string, key: string): Promise<Listener> {
    const client = new LegacyClient({ name: 'listener', version: '1' });
    const told: string[] = [];
    client.fallbackNotificationHandler = async ({ method }) => void told.push(method);
    await connectListening(client, new URL(path, app.url), { headers: { authorization: `Bearer ${key}` } });
    closing.push(() => client.close());
    return { told, promises: client.getServerCapabilities() };
  }

  async function modernListener(path: string, key: string): Promise<Listener> {
    const versionNegotiation = { mode: { pin: '2026-07-28' } };
    const client = new ModernClient({ name: 'listener', version: '1' }, { versionNegotiation });
    const told: string[] = [];
    for (const kind of LISTS) client.setNotificationHandler(methodOf(kind), () => void told.push(methodOf(kind)));
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await client.connect(new ModernHttp(new URL(path, app.url), { requestInit }));
    await client.listen({ toolsListChanged: true, promptsListChanged: true });
    closing.push(() => client.close());
    return { told, promises: client.getServerCapabilities() };
  }

  it.each([
    ['legacy', legacyListener],
    ['modern', modernListener],
  ])('in the %s era gets notifications only of lists that it is permitted to see', async (_era, listen) => {
    const server = await started(() => startLegacyServer());
    const { connectionId, agent, agentId } = await listenedTo(server);
    const [all, toolsOnly] = [
      await listen(agent, app.apiKey),
      await listen(agent, await keyWith(app, { [connectionId]: ['first', 'second'], [agentId]: ['first', 'second'] })),
    ];
    expect(all.promises).toMatchObject({ tools: { listChanged: true }, prompts: { listChanged: true } });
    await promptsOf(agent);
    server.offered.prompts = ['second'];
    await server.announce('prompts');
    await eventually(() => all.told.includes(methodOf('prompts')), SEEN_MS);
    expect(await promptsOf(agent)).toEqual(['second']);
    server.offered.tools = ['first', 'second'];
    await server.announce('tools');
    await eventually(() => [all, toolsOnly].every(({ told }) => told.includes(methodOf('tools'))), SEEN_MS);
    expect(await namesOf(agent)).toEqual(['first', 'second']);
    expect(toolsOnly.told).not.toContain(methodOf('prompts'));
  });
});
