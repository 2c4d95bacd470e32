import { afterAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  type Task,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { succeed } from '../../support/agent-runs.js';
import { openLegacy } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, errorIn, eventsOf, openProxy, rpc, TAKES_STREAMS } from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { legacyServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { idsIn, textIn, untilTask, useGreetingServer } from './ask.support.js';

const clients: Client[] = [];
afterAll(() => Promise.all(clients.map((client) => client.close())));

const own = useGreetingServer();
const { app, other, exposed, asking } = own;

const FORMS = { elicitation: { form: {} } };
const RELATED = 'io.modelcontextprotocol/related-task';
/** Refused by every method: unknown, or not valid. */
const WRONG = -32602;

async function open(agentId: string, { at = app, key = app.apiKey, capabilities = {} } = {}): Promise<Client> {
  const { client } = await openLegacy({ ...at, apiKey: key }, `gateway/${agentId}`, capabilities);
  clients.push(client);
  return client;
}

/** Calls `ask` with a task. */
async function create(client: Client, message: string): Promise<Task> {
  const params = { name: 'ask', arguments: { message }, task: { ttl: 60_000 } };
  const stream = client.experimental.tasks.requestStream({ method: 'tools/call', params }, CallToolResultSchema);
  for await (const event of stream) {
    if (event.type === 'result') return (event.result as unknown as { task: Task }).task;
    throw new Error(JSON.stringify(event));
  }
  throw new Error('There is no answer.');
}

const resultOf = (client: Client, taskId: string) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

const untilStatus = (client: Client, taskId: string, status: string): Promise<Task> =>
  eventually(async () => {
    const task = await client.experimental.tasks.getTask(taskId);
    expect(task).toMatchObject({ taskId, status });
    return task;
  });

/** The code of a request's error; undefined for a result. */
async function codeOf(agentId: string, method: string, params: object, key = app.apiKey): Promise<number | undefined> {
  const headers = { ...TAKES_STREAMS, 'mcp-protocol-version': '2025-11-25' };
  const answer = await callProxy(app, gatewayPath(app, agentId), { key, headers, body: rpc(method, params) });
  return errorIn(answer)?.code;
}

describe('the tool that runs an agent, as a task of 2025-11-25', () => {
  it('is announced where the agent is a tool', async () => {
    const client = await open(await exposed());
    expect(client.getServerCapabilities()?.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'ask')?.execution).toEqual({ taskSupport: 'optional' });
    const plainId = await agentOf(app, [own.connectionId]);
    const plain = await open(plainId);
    expect(plain.getServerCapabilities()?.tasks).toBeUndefined();
    for (const method of ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel']) {
      expect(await codeOf(plainId, method, { taskId: 'x' })).toBe(-32601);
    }
  });

  it('leaves the tasks of upstreams out of the list of tools', async () => {
    const tools = [{ name: 'long', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }];
    const upstream = await startScripted(
      legacyServer(({ message }, response) => sendResult(response, message, { tools })).script,
    );
    const client = await open(await agentOf(app, [await connectTo(app, upstream.url)], { expose_run: true }));
    const listed = (await client.listTools()).tools.map(({ name, execution }) => [name, execution?.taskSupport]);
    expect(listed).toEqual([
      ['ask', 'optional'],
      ['long', 'forbidden'],
    ]);
    await upstream.close();
  });

  it('ends in the answer, in any process and in either era', async () => {
    const agentId = await exposed();
    const client = await open(agentId);
    // Tells the client that the tool has tasks.
    await client.listTools();
    const stream = client.experimental.tasks.callToolStream(
      { name: 'ask', arguments: { message: 'Hello' } },
      CallToolResultSchema,
    );
    const events: string[] = [];
    let taskId = '';
    for await (const event of stream) {
      if (event.type === 'taskCreated') {
        taskId = event.task.taskId;
        expect(event.task).toMatchObject({ status: 'working', ttl: null, pollInterval: 1000 });
      }
      if (event.type === 'result') {
        expect(textIn(event.result)).toBe('You said: Hello');
        expect(event.result._meta?.[RELATED]).toEqual({ taskId });
      }
      events.push(event.type);
    }
    expect([events[0], events.at(-1)]).toEqual(['taskCreated', 'result']);
    const elsewhere = await open(agentId, { at: other });
    expect(textIn(await resultOf(elsewhere, taskId))).toBe('You said: Hello');
    await untilTask(other, agentId, { taskId, status: 'completed' });

    const failing = await create(client, '/fail broken');
    expect(await untilStatus(elsewhere, failing.taskId, 'failed')).toMatchObject({ statusMessage: expect.any(String) });
    expect(await resultOf(client, failing.taskId)).toMatchObject({ isError: true });
  });

  it('waits for the answer in any process, and tells of changes', async () => {
    const agentId = await asking();
    const client = await open(agentId);
    const elsewhere = await open(agentId, { at: other });
    const { taskId } = await create(client, '/call greet {"text":"a"}');
    const results = [resultOf(client, taskId), resultOf(elsewhere, taskId)];
    // The clients show no forms: somebody else answers.
    await eventually(async () =>
      expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({
        status: 'working',
        statusMessage: 'Waits for approval of greet.',
      }),
    );
    const where = { field: ['agent_id'], operator: 'eq', value: agentId };
    type Waiting = { items: { thread_id: string; pending_approvals: { id: string }[] }[] };
    const [item] = (await succeed<Waiting>(app, 'RUN_LIST', { where })).items;
    const path = `/api/${app.org}/agent-runtime/threads/${item?.thread_id}/approvals/${item?.pending_approvals[0]?.id}`;
    expect((await callProxy(app, path, { key: app.apiKey, body: { approved: true } })).status).toBe(202);
    for (const result of await Promise.all(results)) expect(textIn(result)).toContain('greet says a');
  });

  it.each([
    [{ action: 'accept' as const, content: { approve: true } }, 'greet says a'],
    [{ action: 'accept' as const, content: { approve: false, reason: 'Too late.' } }, 'Too late.'],
    [{ action: 'decline' as const }, 'denied'],
  ])('asks a client that shows forms for an approval: %j', async (answer, text) => {
    const agentId = await asking();
    const client = await open(agentId, { capabilities: FORMS });
    const questions: { message: string; taskId: unknown }[] = [];
    const statuses: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push({ message: params.message, taskId: params._meta?.[RELATED]?.taskId });
      return answer;
    });
    client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void statuses.push(params.status));
    const { taskId } = await create(client, '/call greet {"text":"a"}');
    await untilStatus(client, taskId, 'input_required');
    expect((await client.experimental.tasks.listTasks()).tasks).toMatchObject([{ taskId, status: 'input_required' }]);
    const result = await resultOf(client, taskId);
    const transcript = await app.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: idsIn(result).thread_id });
    expect(JSON.stringify(transcript.body)).toContain(text);
    expect(questions).toEqual([{ message: expect.stringContaining('{"text":"a"}') as unknown, taskId }]);
    await untilStatus(client, taskId, 'completed');
  });

  it('asks nobody who must not approve, and asks again what a person has left open', async () => {
    const agentId = await asking();
    const poster = await keyWith(app, { [agentId]: ['*'] });
    const weak = await open(agentId, { key: poster, capabilities: FORMS });
    const { taskId } = await create(weak, '/call greet {"text":"a"}');
    await eventually(async () =>
      expect(await weak.experimental.tasks.getTask(taskId)).toMatchObject({
        status: 'working',
        statusMessage: 'Waits for approval of greet.',
      }),
    );
    const client = await open(agentId, { capabilities: FORMS });
    let asked = 0;
    client.setRequestHandler(ElicitRequestSchema, () => {
      asked++;
      if (asked === 1) return { action: 'cancel' };
      // Refused with 400; the question stays open.
      if (asked === 2) return { action: 'accept', content: {} };
      return { action: 'accept', content: { approve: true } };
    });
    const own = await create(client, '/call greet {"text":"b"}');
    const results = [resultOf(client, own.taskId)];
    for (const times of [1, 2]) {
      await eventually(() => expect(asked).toBe(times));
      results.push(resultOf(client, own.taskId));
    }
    for (const result of await Promise.all(results)) expect(textIn(result)).toContain('greet says b');
    expect(asked).toBe(3);
  });

  it('refuses the answer to a question of a deleted run, and keeps the session', async () => {
    const agentId = await asking();
    const { client, transport } = await openLegacy(app, `gateway/${agentId}`, FORMS);
    clients.push(client);
    const { taskId } = await create(client, '/call greet {"text":"a"}');
    const headers = {
      ...TAKES_STREAMS,
      'mcp-protocol-version': '2025-11-25',
      'mcp-session-id': String(transport.sessionId),
    };
    const path = gatewayPath(app, agentId);
    const body = rpc('tasks/result', { taskId });
    const stream = await openProxy(app, path, { key: app.apiKey, headers, body });
    let seen = '';
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      seen += chunk.toString('utf8');
      if (/elicitation.*\n\n$/.test(seen)) break;
    }
    const question = eventsOf({ text: seen }).at(-1);
    await client.experimental.tasks.cancelTask(taskId);
    const { thread_id } = idsIn(await resultOf(client, taskId));
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: thread_id });
    const declined = { jsonrpc: '2.0', id: question?.id, result: { action: 'decline' } };
    const answer = await callProxy(app, path, { key: app.apiKey, headers, body: declined });
    expect({ status: answer.status, code: errorIn(answer)?.code }).toEqual({ status: 400, code: -32600 });
    expect((await client.experimental.tasks.listTasks()).tasks).toEqual([]);
  });

  it('is cancelled with its run, once', async () => {
    const agentId = await exposed();
    const client = await open(agentId);
    const { taskId } = await create(client, '/wait 60000');
    const waiting = resultOf(client, taskId);
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: 'cancelled' });
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'cancelled' });
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: WRONG });
    expect(await waiting).toMatchObject({ isError: true });
    const done = await create(client, 'Hello');
    await untilStatus(client, done.taskId, 'completed');
    await expect(client.experimental.tasks.cancelTask(done.taskId)).rejects.toMatchObject({ code: WRONG });
    await untilStatus(client, done.taskId, 'completed');
  });

  it('is listed to its caller only, in pages', async () => {
    const agentId = await exposed();
    const client = await open(agentId);
    const neighbour = await open(agentId, { key: await keyWith(app, { [agentId]: ['*'] }) });
    expect(await client.experimental.tasks.listTasks()).toEqual({ tasks: [] });
    // A call without a task is not one.
    await client.callTool({ name: 'ask', arguments: { message: 'Hello' } });
    const created: string[] = [];
    for (let count = 0; count < 51; count++) created.push((await create(client, 'Hello')).taskId);
    const first = await client.experimental.tasks.listTasks();
    const second = await client.experimental.tasks.listTasks(first.nextCursor);
    expect([first.tasks.length, second.tasks.length, second.nextCursor]).toEqual([50, 1, undefined]);
    expect([...first.tasks, ...second.tasks].map(({ taskId }) => taskId)).toEqual(created.toReversed());
    expect(await neighbour.experimental.tasks.listTasks()).toEqual({ tasks: [] });
    expect(await neighbour.experimental.tasks.listTasks(first.nextCursor)).toEqual({ tasks: [] });
    const result = await resultOf(client, created[50] ?? '');
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: idsIn(result).thread_id });
    expect((await client.experimental.tasks.listTasks()).tasks[0]?.taskId).toBe(created[49]);
  });

  it('is not known to others, and refuses rubbish', async () => {
    const agentId = await exposed();
    const client = await open(agentId);
    const { taskId } = await create(client, 'Hello');
    const result = await resultOf(client, taskId);
    const neighbour = await keyWith(app, { [agentId]: ['*'] });
    const elsewhere = await exposed();
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect(await codeOf(agentId, method, { taskId }, neighbour)).toBe(WRONG);
      expect(await codeOf(elsewhere, method, { taskId })).toBe(WRONG);
      for (const wrong of [idsIn(result).task_id, `${taskId}A`, 7, undefined, '']) {
        expect({ method, wrong, code: await codeOf(agentId, method, { taskId: wrong }) }).toMatchObject({
          code: WRONG,
        });
      }
    }
    for (const cursor of ['x', 7, taskId]) expect(await codeOf(agentId, 'tasks/list', { cursor })).toBe(WRONG);
    const call = { name: 'ask', arguments: { message: 'Hello' } };
    for (const task of [7, 'x', [], null, { ttl: 'long' }]) {
      expect({ task, code: await codeOf(agentId, 'tools/call', { ...call, task }) }).toMatchObject({ code: WRONG });
    }
    expect(await codeOf(agentId, 'tools/call', { ...call, arguments: {}, task: {} })).toBe(WRONG);
    expect(await codeOf(agentId, 'tasks/update', { taskId })).toBe(-32601);
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: idsIn(result).thread_id });
    expect(await codeOf(agentId, 'tasks/result', { taskId })).toBe(WRONG);
  });
});
