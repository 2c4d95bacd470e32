import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { modernRequest, openLegacy, openModernAt } from '../../support/era-clients.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, eventsOf, pathOf, type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { connectProgram, keyWith } from '../../support/proxy-connections.js';
import { succeed } from '../../support/agent-runs.js';
import { WITH_TASKS } from '../../support/task-upstream.js';
import { newTenant, type Tenant } from '../../support/tenant.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../support/stdio-fixtures/${name}.mjs`, import.meta.url));
const [PROGRAM, RAW, MINI] = [fixture('era-program'), fixture('raw-modern-server'), fixture('mini-server')];
const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
  extensions: { 'io.example/ours': { depth: 1 } },
};
const NAMESPACE = 'io.modelcontextprotocol/';
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let app: Tenant;
let folder: string;
let paths: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'modern-programs-'));
  app = await newTenant();
  const connectionId = await connectProgram(app, [PROGRAM]);
  const agent = gatewayPath(app, await agentOf(app, [connectionId]));
  paths = { directly: pathOf(app, connectionId), 'through an agent': agent };
});
afterAll(async () => {
  await app?.close();
  await rm(folder, { recursive: true, force: true });
});

/** A client that speaks the modern era only, and answers what it is asked. */
async function openAnswering(path: string): Promise<Client> {
  const client = await openModernAt(app, path, { capabilities: CAPABILITIES });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    model: 'none',
    content: { type: 'text', text: 'said' },
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home' }] }));
  return client;
}

/** A connection to a program whose callers share one process; returns its path. */
async function connectShared(args: readonly string[]): Promise<string> {
  const stdio = { command: 'node', args };
  const data = { title: 'Shared', connection_type: 'STDIO', stdio, shared_state: true };
  const { item } = await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data });
  return pathOf(app, item.id);
}

/** Sends a request of the modern era that is written by hand. */
function ask(
  path: string,
  method: string,
  params: Record<string, unknown> = {},
  {
    key = app.apiKey,
    meta = {},
    capabilities = CAPABILITIES,
  }: { key?: string; meta?: object; capabilities?: object } = {},
): Promise<ProxyAnswer> {
  const { headers, body } = modernRequest(method, params, { capabilities });
  const request = structuredClone(body) as { params: { _meta: object } };
  Object.assign(request.params._meta, meta);
  return callProxy(app, path, { key, headers, body: request });
}
const call = (path: string, name: string, args: object = {}, more: Parameters<typeof ask>[3] = {}) =>
  ask(path, 'tools/call', { name, arguments: args }, more);

/** The text of a tool's answer. */
const textOf = (answer: ProxyAnswer): string | undefined => rpcOf(answer).result?.content?.[0]?.text;
async function say(client: Client, name: string): Promise<string | undefined> {
  const { content } = await client.callTool({ name });
  return (content as { text: string }[])[0]?.text;
}

describe.each(['directly', 'through an agent'])('a client that is pinned to the modern era, %s', (way) => {
  it('connects although it declares capabilities, and is asked by tools and prompts', async () => {
    const client = await openAnswering(paths[way] ?? '');
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true }, resources: {} });
    expect(await say(client, 'asks')).toBe('Hello Ada');
    expect(await say(client, 'samples')).toBe('said');
    expect(await say(client, 'roots')).toBe('file:///home');
    const { messages } = await client.getPrompt({ name: 'asks' });
    expect(messages).toMatchObject([{ content: { text: 'Hello Ada' } }]);
    await client.close();
  });

  it('has its envelope passed on as it is', async () => {
    const answer = await call(paths[way] ?? '', 'meta', {}, { meta: { traceparent: TRACE, 'example.com/own': [1] } });
    expect(JSON.parse(textOf(answer) ?? '')).toMatchObject({
      [`${NAMESPACE}protocolVersion`]: '2026-07-28',
      [`${NAMESPACE}clientInfo`]: { name: 'raw', version: '1' },
      [`${NAMESPACE}clientCapabilities`]: CAPABILITIES,
      traceparent: TRACE,
      'example.com/own': [1],
    });
  });

  it('gets what the program answers: what it asks, its errors, and results', async () => {
    const asked = rpcOf(await call(paths[way] ?? '', 'asks')).result;
    expect(asked).toMatchObject({
      resultType: 'input_required',
      inputRequests: { name: { method: 'elicitation/create', params: { message: 'Who?' } } },
      requestState: expect.any(String),
    });
    const forged = {
      name: 'asks',
      arguments: {},
      requestState: 'forged',
      inputResponses: { name: { action: 'cancel' } },
    };
    expect(rpcOf(await ask(paths[way] ?? '', 'tools/call', forged)).error?.code).toBe(-32602);
    expect(rpcOf(await ask(paths[way] ?? '', 'resources/read', { uri: 'note://one' })).result).toMatchObject({
      resultType: 'complete',
      contents: [{ uri: 'note://one', text: 'one' }],
      _meta: { [`${NAMESPACE}serverInfo`]: { name: 'era-program' } },
    });
  });
});

it('`server/discover` is answered by the program', async () => {
  const { result } = rpcOf(await ask(paths['directly'] ?? '', 'server/discover'));
  expect(result).toMatchObject({
    supportedVersions: ['2026-07-28'],
    instructions: 'Be modern.',
    capabilities: { resources: { subscribe: true }, logging: {}, extensions: { 'io.example/own': { level: 2 } } },
  });
});

it('`initialize` and unsupported versions do not change the era of a program of both', async () => {
  const path = pathOf(app, await connectProgram(app, [PROGRAM, '--dual']));
  const { headers, body } = modernRequest('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
  const refused = await callProxy(app, path, { key: app.apiKey, headers, body });
  expect({ status: refused.status, code: rpcOf(refused).error?.code }).toEqual({ status: 404, code: -32601 });
  const other = modernRequest('tools/call', { name: 'echo', arguments: {} }, { version: '2030-01-01' });
  const unsupported = await callProxy(app, path, { key: app.apiKey, headers: other.headers, body: other.body });
  expect({ status: unsupported.status, code: rpcOf(unsupported).error?.code }).toEqual({ status: 400, code: -32022 });
  expect(textOf(await call(path, 'echo', { text: 'still modern' }))).toBe('still modern');
});

it('a program of both eras serves each client in its own, elicitation included', async () => {
  const connectionId = await connectProgram(app, [PROGRAM, '--dual']);
  const modern = await openAnswering(pathOf(app, connectionId));
  const { client: legacy } = await openLegacy(app, connectionId, { elicitation: {} });
  legacy.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Grace' } }));
  expect(await legacy.callTool({ name: 'asks' })).toMatchObject({ content: [{ text: 'Hello Grace' }] });
  expect(await say(modern, 'asks')).toBe('Hello Ada');
  await Promise.all([modern.close(), legacy.close()]);
});

it('a program that comes back in the legacy era is translated, and the call that finds it out is made', async () => {
  const era = join(folder, 'era');
  await writeFile(era, 'modern');
  const path = pathOf(app, await connectProgram(app, [PROGRAM, `--era=${era}`]));
  expect(textOf(await call(path, 'echo', { text: 'modern' }))).toBe('modern');
  await writeFile(era, 'legacy');
  expect(rpcOf(await call(path, 'exit')).error?.data.code).toBe('upstream_unreachable');
  const answer = await call(path, 'echo');
  expect(textOf(answer)).toBe('legacy');
  expect(rpcOf(answer).result?.['resultType']).toBe('complete');
});

it('a caller sees and calls what it is permitted to', async () => {
  const path = paths['directly'] ?? '';
  const connectionId = path.split('/').at(-1) ?? '';
  const key = await keyWith(app, { [connectionId]: ['echo'] });
  const list = rpcOf(await ask(path, 'tools/list', {}, { key })).result;
  expect(list?.tools?.map(({ name }) => name)).toEqual(['echo']);
  expect((await call(path, 'pid', {}, { key })).status).toBe(403);
  expect((await ask(path, 'resources/read', { uri: 'note://one' }, { key })).status).toBe(403);
  expect(textOf(await call(path, 'echo', { text: 'permitted' }, { key }))).toBe('permitted');
});

describe('callers of one process', () => {
  it('get their own answers and progress, although their ids and tokens are equal', async () => {
    const path = await connectShared([PROGRAM]);
    const keys = await Promise.all([1, 2].map(() => keyWith(app, { '*': ['*'] })));
    const meta = { progressToken: 'mine', [`${LOG_LEVEL_META_KEY}`]: 'debug' };
    const calls = Array.from({ length: 20 }, (_, number) => number);
    await Promise.all(
      calls.map(async (number) => {
        const text = `text ${number}`;
        const answer = await call(path, 'steps', { text }, { key: keys[number % 2] ?? '', meta });
        const [first, second, last, ...more] = eventsOf(answer) as unknown as Record<string, unknown>[];
        expect([first, second].map((event) => event?.['params'])).toEqual(
          [1, 2].map((progress) => ({ progressToken: 'mine', progress, message: text })),
        );
        expect(last).toMatchObject({ id: 1, result: { content: [{ text }] } });
        // Nothing says whose log it is.
        expect(more).toEqual([]);
      }),
    );
  });

  it('get the log in a process of their own, if they ask for it', async () => {
    const meta = { [`${LOG_LEVEL_META_KEY}`]: 'debug' };
    const logged = eventsOf(await call(paths['directly'] ?? '', 'steps', { text: 'a' }, { meta }));
    expect(logged).toMatchObject([
      { method: 'notifications/message', params: { data: 'log of a' } },
      { id: 1, result: {} },
    ]);
    const silent = await call(paths['directly'] ?? '', 'steps', { text: 'b' });
    expect(textOf(silent)).toBe('b');
  });
});

it('tasks of a program belong to their maker, and an agent announces them', async () => {
  const connectionId = await connectProgram(app, [RAW]);
  const agent = gatewayPath(app, await agentOf(app, [connectionId]));
  const key = await keyWith(app, { '*': ['*'] });
  const capabilities = WITH_TASKS;
  for (const path of [pathOf(app, connectionId), agent]) {
    const made = rpcOf(await call(path, 'work', {}, { capabilities })).result;
    expect(made).toMatchObject({ resultType: 'task', status: 'working' });
    const { taskId } = made as { taskId?: string };
    expect(taskId).not.toBe('task-1');
    const known = rpcOf(await ask(path, 'tasks/get', { taskId }, { capabilities })).result;
    expect(known).toMatchObject({ taskId, status: 'completed', result: { content: [{ text: 'worked' }] } });
    expect(rpcOf(await ask(path, 'tasks/get', { taskId }, { capabilities, key })).error?.code).toBe(-32602);
    expect(textOf(await call(path, 'work'))).toBe('at once');
    expect(rpcOf(await ask(path, 'server/discover')).result).toMatchObject({ capabilities });
  }
});

it('a program that answers requests of nobody disturbs no caller', async () => {
  const path = await connectShared([RAW]);
  const misbehaving = await call(path, 'misbehave', { ids: [1, 'sbx-1', 'server-discover-probe-1'] });
  expect(textOf(misbehaving)).toBe('misbehaved');
  expect(misbehaving.text).not.toContain('foreign');
  expect(textOf(await call(path, 'open'))).toBe('null');
});

it('the first start of a program of the modern era alone can be slow', async () => {
  const path = pathOf(app, await connectProgram(app, [PROGRAM, `--slow=${join(folder, 'slow')}`]));
  expect(rpcOf(await call(path, 'asks')).result?.['resultType']).toBe('input_required');
});

it('a program that answers `server/discover` with rubbish, too late or never is one of the legacy era', async () => {
  const answers = {
    rubbish: '"rubbish"',
    'no version in common': '{"supportedVersions":["2031-01-01"],"capabilities":{}}',
    'half a description': '{"supportedVersions":["2026-07-28"]}',
    never: 'never',
    'after `initialize`': 'late',
  };
  await Promise.all(
    Object.entries(answers).map(async ([how, discover]) => {
      const path = pathOf(app, await connectProgram(app, [MINI, `--discover=${discover}`]));
      const [{ result } = {}] = eventsOf(await call(path, 'echo', { text: how }));
      expect(result).toMatchObject({ resultType: 'complete', content: [{ text: how }] });
    }),
  );
});
