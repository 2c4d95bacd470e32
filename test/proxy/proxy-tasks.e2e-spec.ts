import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  callProxy,
  eventsOf,
  openProxy,
  pathOf,
  type ProxyAnswer,
  rpc,
  type RpcAnswer,
  rpcOf,
  TAKES_STREAMS,
} from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  startScripted,
} from '../support/scripted-upstream.js';
import { WITH_TASKS } from '../support/task-upstream.js';
import { useTenantOfTwo } from '../support/use-started.js';

const schema = { type: 'object' };
const TOOLS = [
  { name: 'open', inputSchema: schema },
  { name: 'denied', inputSchema: schema },
  { name: 'everyones', inputSchema: schema, _meta: { 'mcp.service': { public_tool: true } } },
];
const INITIALIZE = { protocolVersion: '2025-11-25', clientInfo: { name: 'test', version: '1' }, capabilities: {} };
const VERSION = '2026-07-28';
const ENVELOPE = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': WITH_TASKS,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  },
};

/** A server that ties tasks to the credential that all callers of the connection share. */
interface TaskServer extends ScriptedServer {
  readonly tasks: string[];
  readonly cancelled: string[];
  /** The open streams of unsolicited messages. */
  readonly streams: Set<ServerResponse>;
}

async function startTaskServer(isModern: boolean): Promise<TaskServer> {
  const tasks: string[] = [];
  const cancelled: string[] = [];
  const streams = new Set<ServerResponse>();
  const answer = (message: RpcMessage): object => {
    const taskId = String(message.params?.['taskId']);
    const task = { taskId, status: 'working', createdAt: '', lastUpdatedAt: '', ttl: null };
    if (message.method === 'tools/list')
      return { tools: TOOLS, ...(isModern && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }) };
    if (message.method === 'tools/call') {
      const made = `task-${tasks.length}-of-${String(message.params?.['name'])}`;
      tasks.push(made);
      return isModern ? { resultType: 'task', ...task, taskId: made } : { task: { ...task, taskId: made } };
    }
    if (message.method === 'tasks/list') return { tasks: tasks.map((id) => ({ ...task, taskId: id })) };
    if (message.method === 'tasks/cancel') cancelled.push(taskId);
    if (message.method === 'tasks/result') return { content: [{ type: 'text', text: `secret of ${taskId}` }] };
    return { ...task, resultType: 'complete' };
  };
  const legacy = legacyServer(({ message }, response) => sendResult(response, message, answer(message)));
  const server = await startScripted((request, response) => {
    const { message, method } = request;
    if (method === 'GET') {
      streams.add(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      return void response.write(': open\n\n');
    }
    if (!isModern) return legacy.script(request, response);
    if (message.method !== 'server/discover') return sendResult(response, message, answer(message));
    const serverInfo = { name: 'tasks', version: '1' };
    return sendResult(response, message, {
      resultType: 'complete',
      supportedVersions: [VERSION],
      capabilities: { tools: {} },
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
    });
  });
  return Object.assign(server, { tasks, cancelled, streams });
}

const [app, other] = useTenantOfTwo();

/** One caller of a connection: sends a request and returns the answer. */
type Asking = (method: string, params?: object) => Promise<ProxyAnswer>;

async function legacyCaller(
  path: string,
  key: string | undefined,
  at = app,
): Promise<Asking & { headers: Record<string, string> }> {
  const opened = await callProxy(at, path, { key, body: rpc('initialize', INITIALIZE) });
  const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']), ...TAKES_STREAMS };
  const ask = (method: string, params?: object) => callProxy(at, path, { key, headers, body: rpc(method, params, 7) });
  return Object.assign(ask, { headers });
}

async function modernCaller(path: string, key: string | undefined, at = app): Promise<Asking> {
  return (method, params = {}) => {
    const { name, taskId = name } = params as { name?: string; taskId?: string };
    const headers = {
      ...TAKES_STREAMS,
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(taskId !== undefined && { 'mcp-name': taskId }),
    };
    return callProxy(at, path, { key, headers, body: rpc(method, { ...ENVELOPE, ...params }, 7) });
  };
}

const read = (answer: ProxyAnswer): RpcAnswer =>
  answer.text.startsWith('{') ? rpcOf(answer) : (eventsOf(answer)[0] as RpcAnswer);
const listed = (answer: ProxyAnswer): unknown[] =>
  ((read(answer).result as { tasks?: { taskId: string }[] }).tasks ?? []).map(({ taskId }) => taskId);

describe.each([
  ['of a session', false, legacyCaller, ['tasks/get', 'tasks/result', 'tasks/cancel']],
  ['of the modern era', true, modernCaller, ['tasks/get', 'tasks/update', 'tasks/cancel']],
] as const)('tasks %s', (_title, isModern, callerWith, methods) => {
  let server: TaskServer;
  let connectionId: string;
  let path: string;
  const made = async (ask: Asking, name: string): Promise<string> => {
    const { result } = read(
      await ask('tools/call', { name, arguments: {}, ...(!isModern && { task: { ttl: 60_000 } }) }),
    ) as { result?: { taskId?: string; task?: { taskId: string } } };
    return String(result?.task?.taskId ?? result?.taskId);
  };

  beforeAll(async () => {
    server = await startTaskServer(isModern);
    connectionId = await connectTo(app, server.url);
    path = pathOf(app, connectionId);
  });
  afterAll(() => server?.close());

  it('can be read, cancelled and listed only by their maker', async () => {
    const maker = await callerWith(path, await keyWith(app, { [connectionId]: ['open'] }));
    const neighbour = await callerWith(path, await keyWith(app, { [connectionId]: ['open', 'denied'] }));
    const holder = await callerWith(path, app.apiKey);
    const own = await made(maker, 'open');
    const secret = await made(holder, 'denied');
    for (const method of methods) {
      expect(read(await maker(method, { taskId: own })).error).toBeUndefined();
      expect(read(await holder(method, { taskId: secret })).error).toBeUndefined();
    }
    server.cancelled.length = 0;
    const before = server.requests.length;
    for (const [ask, taskId] of [
      [neighbour, own],
      [neighbour, secret],
      [maker, secret],
      [holder, own],
      [holder, 'guessed'],
      [maker, ''],
      [maker, undefined],
    ] as const) {
      for (const method of methods) {
        const refused = await ask(method, { taskId });
        expect(read(refused).error?.data.code).toBe('invalid_arguments');
        expect(refused.text).not.toContain('secret');
      }
    }
    expect(server.cancelled).toEqual([]);
    expect(server.requests.slice(before).filter(({ message }) => String(message.method).startsWith('tasks/'))).toEqual(
      [],
    );
    if (isModern) return;
    expect(listed(await maker('tasks/list'))).toEqual([own]);
    expect(listed(await neighbour('tasks/list'))).toEqual([]);
    expect(listed(await holder('tasks/list'))).toEqual([secret]);
  });

  it('can no longer be used by an owner who is no longer permitted to call the tool', async () => {
    const created = await app.tool('API_KEY_CREATE', {
      name: 'test',
      permissions: { [connectionId]: ['denied', 'open'] },
    });
    const { id, key } = created.body as { id: string; key: string };
    const ask = await callerWith(path, key);
    const task = await made(ask, 'denied');
    expect(read(await ask('tasks/get', { taskId: task })).error).toBeUndefined();
    await app.tool('API_KEY_UPDATE', { id, permissions: { [connectionId]: ['open'] } });
    expect(read(await ask('tasks/get', { taskId: task })).error?.data.code).toBe('permission_denied');
    if (!isModern) expect(listed(await ask('tasks/list'))).toEqual([]);
  });

  it('of public tools belong to a key, and are not available without a credential', async () => {
    const ask = await callerWith(path, await keyWith(app, {}));
    const task = await made(ask, 'everyones');
    expect(read(await ask('tasks/get', { taskId: task })).error).toBeUndefined();
    const anonymous = await callerWith(path, undefined);
    const theirs = await made(anonymous, 'everyones');
    for (const taskId of [task, theirs]) expect(read(await anonymous('tasks/get', { taskId })).error).toBeDefined();
    expect(read(await ask('tasks/get', { taskId: theirs })).error).toBeDefined();
  });

  it('are known to other processes', async () => {
    const key = await keyWith(app, { [connectionId]: ['open'] });
    const taskId = await made(await callerWith(path, key), 'open');
    const elsewhere = await callerWith(path, key, other);
    for (const method of methods) expect(read(await elsewhere(method, { taskId })).error).toBeUndefined();
  });
});

it('notifications about a task reach only its owner', async () => {
  const server = await startTaskServer(false);
  const connectionId = await connectTo(app, server.url);
  const path = pathOf(app, connectionId);
  const callers = await Promise.all(
    [1, 2].map(async () => {
      const key = await keyWith(app, { [connectionId]: ['open'] });
      return { key, ask: await legacyCaller(path, key) };
    }),
  );
  const answers = await Promise.all(
    callers.map(({ ask }) => ask('tools/call', { name: 'open', arguments: {}, task: {} })),
  );
  const ids = answers.map((answer) => String((read(answer).result as { task?: { taskId: string } }).task?.taskId));
  const streams = await Promise.all(
    callers.map(({ key, ask }) => openProxy(app, path, { method: 'GET', key, headers: ask.headers })),
  );
  while (server.streams.size < 2) await new Promise((resolve) => setImmediate(resolve));
  const related = (taskId: string) => ({ _meta: { 'io.modelcontextprotocol/related-task': { taskId } } });
  const messages = [...ids, 'made-up'].flatMap((taskId) => [
    { jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId, status: 'working' } },
    {
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info', data: `about ${taskId}`, ...related(taskId) },
    },
    { jsonrpc: '2.0', id: `ask ${taskId}`, method: 'elicitation/create', params: { message: 'x', ...related(taskId) } },
  ]);
  messages.push({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'the last' },
  } as never);
  for (const stream of server.streams)
    stream.end(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''));
  for (const [index, stream] of streams.entries()) {
    let text = '';
    for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString('utf8');
    expect(text.split(String(ids[index])).length - 1).toBe(5);
    expect(text).not.toContain(String(ids[1 - index]));
    expect(text).not.toContain('made-up');
    expect(text).toContain('the last');
  }
  await server.close();
});

it('the newest 500 tasks of a caller are kept, and expired ones are deleted', async () => {
  const server = await startTaskServer(false);
  const connectionId = await connectTo(app, server.url);
  const path = pathOf(app, connectionId);
  const key = await keyWith(app, { [connectionId]: ['open'] });
  const call = { name: 'open', arguments: {}, task: {} };
  const make = async (ask: Asking): Promise<string> =>
    String((read(await ask('tools/call', call)).result as { task?: { taskId: string } }).task?.taskId);
  const ask = await legacyCaller(path, key);
  const task = await make(ask);
  const [newest] = await app.query<{ owner: string }>('SELECT owner FROM mcp_tasks WHERE connection_id = $1', [
    connectionId,
  ]);
  const owner = newest?.owner;
  await app.query(
    `INSERT INTO mcp_tasks SELECT $1, $2, 'digest-' || n, 'open', now() + interval '1 day' FROM generate_series(1, 700) n`,
    [connectionId, owner],
  );
  await app.query(
    `INSERT INTO mcp_tasks SELECT $1, 'over', 'digest-' || n, 'open', now() - interval '1 day' FROM generate_series(1, 50) n`,
    [connectionId],
  );
  const next = await make(ask);
  const counted = await app.query(
    `SELECT count(*) FILTER (WHERE owner = $1)::int AS own, count(*) FILTER (WHERE owner = 'over')::int AS over
       FROM mcp_tasks WHERE connection_id = $2`,
    [owner, connectionId],
  );
  expect(counted).toEqual([{ own: 500, over: 0 }]);
  const elsewhere = await legacyCaller(path, key, other);
  for (const taskId of [task, next]) expect(read(await elsewhere('tasks/get', { taskId })).error).toBeUndefined();
  expect(listed(await elsewhere('tasks/list'))).toContain(next);
  await server.close();
});
