import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import {
  callProxy,
  eventsOf,
  openProxy,
  pathOf,
  type ProxyAnswer,
  rpc,
  type RpcAnswer,
  TAKES_STREAMS,
} from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { TASKS, WITH_TASKS } from '../support/task-upstream.js';
import { read, textIn, useModernTasks } from './modern-tasks.support.js';

const { app, other, upstreamWith, agentWith, connectionWith, ask, asking, makeTask } = useModernTasks();

describe('an agent whose client cannot have tasks', () => {
  const legacyCall = async (path: string, capabilities: object): Promise<ProxyAnswer> => {
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } };
    const opened = await callProxy(app, path, {
      key: app.apiKey,
      headers: TAKES_STREAMS,
      body: rpc('initialize', params),
    });
    expect(opened.text).not.toContain(TASKS);
    const headers = { ...TAKES_STREAMS, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const call = { name: 'work', arguments: {}, task: { ttl: 60_000 } };
    return callProxy(app, path, { key: app.apiKey, headers, body: rpc('tools/call', call, 7) });
  };

  it.each([
    ['an upstream of 2025-11-25', false],
    ['an upstream of 2026-07-28', true],
  ])('makes the call without a task at %s', async (_title, isModern) => {
    const { server, id } = await upstreamWith({ isModern });
    const path = gatewayPath(app, await agentOf(app, [id]));
    const call = rpc('tools/call', { name: 'work', arguments: {}, task: {} });
    const sessionless = await callProxy(app, path, { key: app.apiKey, body: call });
    const answers = [
      sessionless,
      await legacyCall(path, {}),
      await legacyCall(path, { sampling: {}, elicitation: {} }),
    ];
    if (!isModern) answers.push(await ask(path, 'tools/call', { name: 'work', arguments: {}, task: {} }));
    expect(answers.map(textIn)).toEqual(answers.map(() => 'at once'));
    expect(server.tasks.size).toBe(0);
  });

  it('withholds the extension from the upstream for a caller without a credential', async () => {
    const { server, id } = await upstreamWith({ isModern: true });
    const path = gatewayPath(app, await agentOf(app, [id]));
    const capabilities = { sampling: {}, extensions: { 'test/other': { one: 1 }, [TASKS]: {} } };
    const answer = await ask(
      path,
      'tools/call',
      { name: 'everyones', arguments: {} },
      { key: undefined, capabilities },
    );
    expect(textIn(answer)).toBe('at once');
    const message = server.calls('tools/call')[0]?.message;
    expect(message?.params?.['_meta']).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { sampling: {}, extensions: { 'test/other': { one: 1 } } },
    });
    expect(JSON.stringify(message)).not.toContain(TASKS);
    expect((await ask(path, 'tasks/get', { taskId: 'task-0' }, { key: undefined })).status).toBe(401);
  });

  it.each([
    ['2025-11-25', 'a client of 2025-11-25', false, false],
    ['2025-11-25', 'a client of 2026-07-28', false, true],
    ['2026-07-28', 'a caller without a credential', true, true],
  ])('refuses a task that an upstream of %s makes all the same for %s', async (_era, _client, isModern, asksModern) => {
    const { server, id } = await upstreamWith({ isModern, isStubborn: true });
    const path = gatewayPath(app, await agentOf(app, [id]));
    const key = isModern ? undefined : app.apiKey;
    const call = { name: 'everyones', arguments: {} };
    const answer = asksModern
      ? await ask(path, 'tools/call', call, { key })
      : await callProxy(app, path, { key, body: rpc('tools/call', call) });
    expect([...server.tasks.keys()]).toEqual(['task-0']);
    expect(answer.text).not.toContain('task-0');
    expect(answer.text).toContain('upstream_protocol');
  });
});

describe('tasks of 2026-07-28 through an agent', () => {
  it('are announced if a connection of the agent has them, and to those who may use it', async () => {
    const [{ id }, { id: plain }] = [
      await upstreamWith({ isModern: true }),
      await upstreamWith({ isModern: true, isPlain: true }),
    ];
    const both = gatewayPath(app, await agentOf(app, [plain, id]));
    const without = gatewayPath(app, await agentOf(app, [plain]));
    const announced = async (path: string, key = app.apiKey): Promise<unknown> => {
      const { capabilities } = read(await ask(path, 'server/discover', {}, { key })).result ?? {};
      return (capabilities as { extensions?: unknown }).extensions;
    };
    expect(await announced(both)).toEqual({ [TASKS]: {} });
    expect(await announced(without)).toBeUndefined();
    expect(await announced(both, await keyWith(app, { [plain]: ['work'] }))).toBeUndefined();
  });

  it.each([
    ['JSON', false],
    ['event streams', true],
  ])('are routed to their upstream, which answers in %s', async (_title, streams) => {
    const [first, second] = [
      await upstreamWith({ isModern: true, streams }),
      await upstreamWith({ isModern: true, streams, result: 'of the second' }),
    ];
    const members = [
      { connection_id: first.id, prefix: 'one' },
      { connection_id: second.id, prefix: 'two' },
    ];
    const path = gatewayPath(app, await agentOf(app, members));
    const ids = await Promise.all(['one_work', 'two_work'].map((name) => makeTask(path, { name })));
    for (const { server } of [first, second]) expect([...server.tasks.keys()]).toEqual(['task-0']);
    for (const taskId of ids) {
      expect(taskId).not.toContain('task-0');
      const asked = await ask(path, 'tasks/get', { taskId });
      expect(read(asked).result).toMatchObject({ taskId, status: 'input_required', inputRequests: { name: {} } });
      expect(asked.text).not.toContain('task-0');
    }
    const [one = '', two = ''] = ids;
    expect(read(await ask(path, 'tasks/cancel', { taskId: one })).result).toEqual({ resultType: 'complete' });
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } };
    const updated = await ask(path, 'tasks/update', { taskId: two, inputResponses }, { at: other });
    expect(read(updated).result).toEqual({ resultType: 'complete' });
    expect(second.server.calls('tasks/update')[0]?.message.params).toMatchObject({ taskId: 'task-0', inputResponses });
    expect(read(await ask(path, 'tasks/get', { taskId: one })).result).toMatchObject({ status: 'cancelled' });
    expect(read(await ask(path, 'tasks/get', { taskId: two })).result).toMatchObject({
      taskId: two,
      status: 'completed',
      result: { content: [{ text: 'of the second' }] },
    });
  });

  it('of nested agents, dressed tools and calls by search are routed too', async () => {
    const { server, id } = await upstreamWith({ isModern: true });
    const inner = await agentOf(app, [{ connection_id: id, selected_tools: [{ tool: 'work', name: 'labour' }] }]);
    const outer = gatewayPath(app, await agentOf(app, [inner], { tool_mode: 'search' }));
    const named = await makeTask(outer, { name: 'labour' });
    const found = await ask(outer, 'tools/call', { name: 'call_tool', arguments: { name: 'labour', arguments: {} } });
    for (const taskId of [named, String(read(found).result?.['taskId'])]) {
      expect(read(await ask(outer, 'tasks/get', { taskId })).result).toMatchObject({
        taskId,
        status: 'input_required',
      });
    }
    expect(server.calls('tasks/get').map(({ message }) => message.params?.['taskId'])).toEqual(['task-0', 'task-1']);
  });

  it('end with the connection', async () => {
    const { id } = await upstreamWith({ isModern: true });
    const agent = await agentOf(app, [id]);
    const path = gatewayPath(app, agent);
    const taskId = await makeTask(path);
    const codeOf = async (): Promise<string | undefined> =>
      read(await ask(path, 'tasks/get', { taskId })).error?.data.code;
    expect(await codeOf()).toBeUndefined();
    await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { status: 'inactive' } });
    expect(await codeOf()).toBe('connection_unavailable');
    await app.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id: agent, data: { connections: [] } });
    expect(await codeOf()).toBe('invalid_arguments');
  });
});

describe.each([
  ['an agent', agentWith],
  ['a connection', connectionWith],
])('tasks of 2026-07-28 at %s', (_title, endpointWith) => {
  it.each([
    ['JSON', false],
    ['event streams', true],
  ])('keep their ids in results of any size, in %s', async (_title, streams) => {
    const result = 'x'.repeat(300_000);
    const { id } = await upstreamWith({ isModern: true, streams, result });
    const { path } = await endpointWith(id);
    const key = await keyWith(app, { [id]: ['work'] });
    const taskId = await makeTask(path, { key });
    await ask(path, 'tasks/update', { taskId, inputResponses: {} }, { key });
    const answer = await ask(path, 'tasks/get', { taskId }, { key });
    expect(answer.text.length).toBeGreaterThan(result.length);
    expect(answer.text).not.toContain('task-0');
    expect(read(answer).result).toMatchObject({ taskId, result: { content: [{ text: result }] } });
  });

  it('are not known to others, under other ids, elsewhere, or after their end', async () => {
    const { server, id } = await upstreamWith({ isModern: true });
    const { path, resource } = await endpointWith(id);
    const key = await keyWith(app, { [resource]: ['*'] });
    const taskId = await makeTask(path, { key });
    const ended = await makeTask(path, { key });
    const elsewhere = await Promise.all([agentWith(id), connectionWith(await connectTo(app, server.url))]);
    const changed = `${taskId.slice(0, -2)}${taskId.endsWith('AA') ? 'BB' : 'AA'}`;
    const neighbour = await keyWith(app, { [resource]: ['*'] });
    const before = server.requests.length;
    const refused = [
      { path, taskId, key: neighbour },
      { path, taskId, key: app.apiKey },
      ...elsewhere.map((endpoint) => ({ path: endpoint.path, taskId, key })),
      { path, taskId: changed, key },
      { path, taskId: 'task-0', key },
      { path, taskId: '', key },
      { path, taskId: 'x'.repeat(9_000), key },
      { path, taskId: 7, key },
    ];
    const messages = new Set<string | undefined>();
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      for (const { path: endpoint, ...one } of refused) {
        const answer = await ask(endpoint, method, { taskId: one.taskId, inputResponses: {} }, { key: one.key });
        if (typeof one.taskId !== 'string') {
          expect(answer.status).toBe(400);
          continue;
        }
        const { error } = read(answer);
        expect({ status: answer.status, code: error?.code }).toEqual({ status: 200, code: -32602 });
        messages.add(error?.message);
      }
    }
    expect([...messages]).toHaveLength(1);
    const forwarded = server.requests.slice(before).map(({ message }) => String(message.method));
    expect(forwarded.filter((method) => method.startsWith('tasks/'))).toEqual([]);
    expect(read(await ask(path, 'tasks/get', { taskId: ended }, { key })).error).toBeUndefined();
    server.tasks.clear();
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const answer = await ask(path, method, { taskId: ended, inputResponses: {} }, { key });
      expect({ status: answer.status, code: read(answer).error?.code }).toEqual({ status: 200, code: -32602 });
    }
  });

  it('end for a caller who may no longer call the tool', async () => {
    const { id } = await upstreamWith({ isModern: true });
    const { path, resource } = await endpointWith(id);
    const created = await app.tool('API_KEY_CREATE', { name: 'test', permissions: { [resource]: ['work', 'other'] } });
    const { id: keyId, key } = created.body as { id: string; key: string };
    const taskId = await makeTask(path, { key });
    const codeOf = async (): Promise<string | undefined> =>
      read(await ask(path, 'tasks/get', { taskId }, { key })).error?.data.code;
    expect(await codeOf()).toBeUndefined();
    await app.tool('API_KEY_UPDATE', { id: keyId, permissions: { [resource]: ['other'] } });
    expect(await codeOf()).toBe('permission_denied');
  });

  it('of public tools belong to the key that made them', async () => {
    const { id } = await upstreamWith({ isModern: true });
    const { path } = await endpointWith(id);
    const [maker, neighbour] = [await keyWith(app, {}), await keyWith(app, {})];
    const taskId = await makeTask(path, { key: maker, name: 'everyones' });
    expect(read(await ask(path, 'tasks/get', { taskId }, { key: maker })).result).toMatchObject({ taskId });
    expect(read(await ask(path, 'tasks/get', { taskId }, { key: neighbour })).error?.code).toBe(-32602);
  });

  it('need the headers of the era, and take no methods of 2025-11-25', async () => {
    const { id } = await upstreamWith({ isModern: true });
    const { path } = await endpointWith(id);
    const taskId = await makeTask(path);
    const mismatched = await ask(path, 'tasks/get', { taskId }, { headers: { 'mcp-name': 'task-0' } });
    expect({ status: mismatched.status, code: read(mismatched).error?.code }).toEqual({ status: 400, code: -32020 });
    for (const method of ['tasks/list', 'tasks/result']) {
      const answer = await ask(path, method, {});
      expect({ status: answer.status, code: read(answer).error?.code }).toEqual({ status: 404, code: -32601 });
    }
  });

  it('are refused to a client that does not declare the extension', async () => {
    const { server, id } = await upstreamWith({ isModern: true });
    const { path } = await endpointWith(id);
    for (const taskId of [await makeTask(path), 'task-0']) {
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const capabilities = { elicitation: {}, extensions: { 'test/other': {} } };
        const answer = await ask(path, method, { taskId, inputResponses: {} }, { capabilities });
        const required = { requiredCapabilities: WITH_TASKS };
        expect({ status: answer.status, error: read(answer).error }).toMatchObject({
          status: 400,
          error: { code: -32021, data: { code: 'missing_capability', ...required } },
        });
      }
    }
    const forwarded = server.requests.map(({ message }) => String(message.method));
    expect(forwarded.filter((method) => method.startsWith('tasks/'))).toEqual([]);
  });

  it('are withheld from callers without a credential', async () => {
    const { server, id } = await upstreamWith({ isModern: true });
    const { path } = await endpointWith(id);
    const call = { name: 'everyones', arguments: {} };
    expect(textIn(await ask(path, 'tools/call', call, { key: undefined }))).toBe('at once');
    expect(server.tasks.size).toBe(0);
    const { id: stubborn } = await upstreamWith({ isModern: true, isStubborn: true });
    const endpoint = await endpointWith(stubborn);
    const refused = await ask(endpoint.path, 'tools/call', call, { key: undefined });
    expect(refused.text).toContain('upstream_protocol');
    expect(refused.text).not.toContain('task-0');
  });

  it('with an id of the upstream that is too long are refused', async () => {
    const { id } = await upstreamWith({ isModern: true, nextId: () => 'x'.repeat(2_000) });
    const { path } = await endpointWith(id);
    const answer = await ask(path, 'tools/call', { name: 'work', arguments: {} });
    expect(answer.text).toContain('upstream_protocol');
    expect(answer.text).not.toContain('xxx');
  });

  it('are not stored', async () => {
    const { id } = await upstreamWith({ isModern: true });
    const { path } = await endpointWith(id);
    await makeTask(path, { key: await keyWith(app, { [id]: ['work'] }) });
    expect(await app.query('SELECT 1 FROM mcp_tasks WHERE connection_id = $1', [id])).toEqual([]);
  });
});

describe('notifications about tasks', () => {
  it('are not sent by agents: a subscription does not agree to their ids', async () => {
    const { server, id } = await upstreamWith({ isModern: true });
    const path = gatewayPath(app, await agentOf(app, [id]));
    const notifications = { toolsListChanged: true, taskIds: [await makeTask(path)] };
    const stream = await openProxy(app, path, asking('subscriptions/listen', { notifications }, {}));
    const [first] = (await once(stream, 'data')) as [Buffer];
    stream.destroy();
    const [acknowledged] = eventsOf({ text: first.toString('utf8') });
    expect(acknowledged).toMatchObject({ params: { notifications: { toolsListChanged: true } } });
    expect(first.toString('utf8')).not.toContain('taskIds');
    expect(server.calls('subscriptions/listen')).toEqual([]);
  });

  it.each([
    ['every permission', ['*']],
    ['the tool alone', ['work']],
  ])('reach their maker alone through a connection, with %s', async (_title, tools) => {
    const { server, id } = await upstreamWith({ isModern: true });
    const path = pathOf(app, id);
    const [key, neighbour] = [await keyWith(app, { [id]: tools }), await keyWith(app, { [id]: tools })];
    const [own, second, foreign] = [
      await makeTask(path, { key }),
      await makeTask(path, { key }),
      await makeTask(path, { key: neighbour }),
    ];
    const listen = async (notifications: object): Promise<RpcAnswer[]> =>
      eventsOf(await ask(path, 'subscriptions/listen', { notifications }, { key }));
    const taskIds = [own, 'task-2', foreign, second, 7];
    const events = await listen({ toolsListChanged: true, taskIds });
    const sent = server.calls('subscriptions/listen')[0]?.message.params?.['notifications'];
    expect(sent).toEqual({ toolsListChanged: true, taskIds: ['task-0', 'task-1'] });
    const detail = { status: 'input_required', inputRequests: { name: {} } };
    expect(events).toMatchObject([
      { params: { notifications: { toolsListChanged: true, taskIds: [own, second] } } },
      { method: 'notifications/tasks', params: { taskId: own, ...detail } },
      { method: 'notifications/tasks', params: { taskId: second, ...detail } },
      { method: 'notifications/tools/list_changed' },
      { id: 7, result: {} },
    ]);
    expect(JSON.stringify(events)).not.toContain('task-');
    const others = await listen({ toolsListChanged: true });
    expect(others.map((event) => (event as { method?: string }).method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      undefined,
    ]);
  });
});
