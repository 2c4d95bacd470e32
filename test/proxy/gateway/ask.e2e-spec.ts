import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { succeed } from '../../support/agent-runs.js';
import { modernRequest, openLegacy, openModern } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { auditOf, connectTo, keyWith } from '../../support/proxy-connections.js';
import { callProxy, errorIn, eventsOf, openProxy, pathOf, type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { type Tenant } from '../../support/tenant.js';
import { startToolServer } from '../../support/tool-server.js';
import { WITH_TASKS } from '../../support/task-upstream.js';
import { answerWith, callAsking, openSession } from '../translation/asked-clients.support.js';
import { idsIn, textIn, type ToolAnswer, useGreetingServer } from './ask.support.js';

const own = useGreetingServer();
const { app, other, exposed, asking } = own;

const statusOf = async (taskId: string): Promise<string> =>
  (await succeed<{ item: { status: string } }>(app, 'RUN_GET', { id: taskId })).item.status;

async function ask(agentId: string, args: object, key?: string, name = 'ask'): Promise<ToolAnswer> {
  const { rpc } = await callThrough(app, gatewayPath(app, agentId), name, args, key);
  return rpc.result as unknown as ToolAnswer;
}

describe('the tool that runs an agent', () => {
  it('is listed by agents that are tools, under a name that no other tool has', async () => {
    expect((await listThrough(app, gatewayPath(app, await agentOf(app, [own.connectionId])))).names).toEqual(['greet']);
    const agentId = await exposed({ title: 'Helper', description: 'Knows much.' });
    const { tools } = await listThrough(app, gatewayPath(app, agentId));
    expect(tools.map(({ name }) => name)).toEqual(['ask', 'greet']);
    expect(tools[0]?.description).toContain('Knows much.');
    const twins = await startToolServer('ask', 'ask_agent');
    const taken = await agentOf(app, [await connectTo(app, twins.url)], { expose_run: true });
    expect((await listThrough(app, gatewayPath(app, taken))).names).toEqual(['ask_agent_2', 'ask', 'ask_agent']);
    expect(textIn(await ask(taken, { message: 'Hello' }, undefined, 'ask_agent_2'))).toBe('You said: Hello');
    expect(textIn(await ask(taken, { text: 'x' }, undefined, 'ask'))).toBe('ask says x');
    await twins.close();
    const searched = await exposed({ tool_mode: 'search' });
    expect((await listThrough(app, gatewayPath(app, searched))).names).toContain('ask');
    const outer = await agentOf(app, [agentId]);
    expect((await listThrough(app, gatewayPath(app, outer))).names).toEqual(['greet']);
    await app.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: { expose_run: false } });
    await eventually(async () => expect((await listThrough(app, gatewayPath(app, agentId))).names).toEqual(['greet']));
  });

  it('needs what posting needs', async () => {
    const agentId = await exposed();
    const path = gatewayPath(app, agentId);
    const weak = await keyWith(app, {});
    expect((await listThrough(app, path, weak)).names).toEqual(['ask']);
    expect(textIn(await ask(agentId, { message: 'Hello' }, weak))).toBe('You said: Hello');
    const anonymous = await callProxy(app, path, {
      key: undefined,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask', arguments: { message: 'x' } } },
    });
    expect(anonymous.status).toBe(401);
  });

  it('answers clients of both eras, and over the route for one tool', async () => {
    const agentId = await exposed();
    const call = { name: 'ask', arguments: { message: 'Hello' } };
    const { client: legacy } = await openLegacy(app, `gateway/${agentId}`);
    const modern = await openModern(app, `gateway/${agentId}`);
    for (const client of [legacy, modern]) {
      const result = (await client.callTool(call)) as ToolAnswer;
      expect(result.content).toEqual([
        { type: 'text', text: 'You said: Hello' },
        { type: 'text', text: `thread_id: ${idsIn(result).thread_id}`, annotations: { audience: ['assistant'] } },
      ]);
      expect(await statusOf(idsIn(result).task_id)).toBe('completed');
      await client.close();
    }
    const answer = await callProxy(app, `${pathOf(app, agentId)}/call-tool/ask`, {
      key: app.apiKey,
      body: { message: 'Hello' },
    });
    expect(textIn(rpcOf(answer).result)).toBe('You said: Hello');
    const record = await auditOf(app, String(answer.headers['x-request-id']));
    expect(record).toMatchObject({ tool_name: 'ask', status: 'success', connection_id: agentId });
  });

  it('continues a conversation', async () => {
    const agentId = await exposed();
    const first = await ask(agentId, { message: 'One' });
    const second = await ask(agentId, { message: 'Two', thread_id: idsIn(first).thread_id });
    expect(idsIn(second).thread_id).toBe(idsIn(first).thread_id);
    const { items } = await succeed<{ items: object[] }>(app, 'COLLECTION_THREAD_MESSAGES_LIST', {
      thread_id: idsIn(first).thread_id,
    });
    expect(items).toHaveLength(4);
  });

  it('returns the object of an agent with an output schema', async () => {
    const output_schema = { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] };
    const agentId = await exposed({ output_schema });
    const { client } = await openLegacy(app, `gateway/${agentId}`);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'ask')?.outputSchema).toEqual(output_schema);
    const result = await client.callTool({ name: 'ask', arguments: { message: '/json {"part":"bolt"}' } });
    expect(result.structuredContent).toEqual({ part: 'bolt' });
    expect(JSON.parse(textIn(result) ?? '')).toEqual({ part: 'bolt' });
    await client.close();
  });

  it('describes every fault in its result, and leaves no empty thread', async () => {
    const agentId = await exposed();
    const threads = async (): Promise<number> =>
      (await succeed<{ totalCount: number }>(app, 'COLLECTION_THREADS_LIST', {})).totalCount;
    const elsewhere = await ask(await exposed(), { message: 'x' });
    const before = await threads();
    for (const [args, code] of [
      [{}, 'invalid_arguments'],
      [{ message: '  ' }, 'invalid_arguments'],
      [{ message: 7 }, 'invalid_arguments'],
      [{ message: 'x', other: 1 }, 'invalid_arguments'],
      [{ message: 'x', thread_id: 'none' }, 'thread_not_found'],
      [{ message: 'x', thread_id: '../x' }, 'invalid_arguments'],
      [{ message: 'x', thread_id: idsIn(elsewhere).thread_id }, 'agent_mismatch'],
      [{ message: 'x', files: ['https://example.com/a.png'] }, 'file_url_unsupported'],
      [{ message: 'x', files: Array.from({ length: 21 }, () => 'data:,') }, 'invalid_arguments'],
    ] as const) {
      const result = await ask(agentId, args);
      expect({ args, isError: result.isError, text: textIn(result) }).toMatchObject({
        isError: true,
        text: expect.stringContaining(`"code":"${code}"`) as unknown,
      });
    }
    expect(await threads()).toBe(before);
    const failed = await ask(agentId, { message: '/fail broken' });
    expect(failed).toMatchObject({ isError: true });
    expect(await statusOf(idsIn(failed).task_id)).toBe('failed');
  });

  it('cancels the run of a call that is cancelled, or that waits for too long', async () => {
    const agentId = await exposed({ ask_timeout_s: 1 });
    const late = await ask(agentId, { message: '/wait 60000' });
    expect(late.isError).toBe(true);
    expect(textIn(late)).toContain('within 1 s');
    const { client } = await openLegacy(app, `gateway/${await exposed()}`);
    const leaving = new AbortController();
    const call = { name: 'ask', arguments: { message: '/wait 60000' } };
    const asked = client.callTool(call, undefined, { signal: leaving.signal });
    const runs = async (status: string): Promise<number> => {
      const where = { field: ['status'], operator: 'eq', value: status };
      return (await succeed<{ totalCount: number }>(app, 'RUN_LIST', { where })).totalCount;
    };
    await eventually(async () => expect(await runs('running')).toBe(1));
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await eventually(async () => expect(await runs('cancelled')).toBe(2));
    await client.close();
  });

  it('is not answered to a caller whose permissions change while a run waits for approval', async () => {
    const agentId = await asking();
    const created = await app.tool('API_KEY_CREATE', { name: 'test', permissions: { [agentId]: ['*'] } });
    const { id, key } = created.body as { id: string; key: string };
    const asked = ask(agentId, { message: '/call greet {"text":"a"}' }, key);
    const where = { field: ['status'], operator: 'eq', value: 'waiting' };
    await eventually(async () =>
      expect((await succeed<{ totalCount: number }>(app, 'RUN_LIST', { where })).totalCount).toBe(1),
    );
    await app.tool('API_KEY_UPDATE', { id, permissions: { [agentId]: ['greet'] } });
    const result = await asked;
    expect(result.isError).toBe(true);
    expect(textIn(result)).toContain('"code":"credential_invalid"');
    await eventually(async () =>
      expect((await succeed<{ totalCount: number }>(app, 'RUN_LIST', { where })).totalCount).toBe(0),
    );
  });

  it('asks a modern client without tasks for approvals, for one and the same run', async () => {
    const agentId = await asking();
    const runs = async (): Promise<{ status: string }[]> => {
      const where = { field: ['agent_id'], operator: 'eq', value: agentId };
      return (await succeed<{ items: { status: string }[] }>(app, 'RUN_LIST', { where })).items;
    };
    const capabilities = { elicitation: { form: {} } };
    const client = await openModern(app, `gateway/${agentId}`, capabilities);
    const questions: string[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params.message);
      return { action: 'accept', content: { approve: true } };
    });
    const result = await client.callTool({ name: 'ask', arguments: { message: '/call greet {"text":"a"}' } });
    expect(textIn(result)).toContain('greet says a');
    expect(questions).toEqual([expect.stringContaining('{"text":"a"}')]);
    expect(await runs()).toMatchObject([{ status: 'completed' }]);
    await client.close();

    const call = { name: 'ask', arguments: { message: '/call greet {"text":"b"}' } };
    const send = async (at: Tenant, more: object = {}, params: object = call, key = app.apiKey): Promise<ProxyAnswer> =>
      callProxy(at, gatewayPath(app, agentId), {
        key,
        ...modernRequest('tools/call', { ...params, ...more }, { capabilities }),
      });
    const [asked] = eventsOf(await send(app));
    const state = (asked?.result ?? {}) as { inputRequests?: object; requestState?: string };
    const { inputRequests = {}, requestState } = state;
    const [question = ''] = Object.keys(inputRequests);
    expect(asked?.result).toMatchObject({ resultType: 'input_required', inputRequests: { [question]: {} } });
    // A retry that brings no answers is asked again.
    const [again] = eventsOf(await send(other, { requestState }));
    expect(again?.result).toMatchObject({ resultType: 'input_required', inputRequests });
    // So is one that declares tasks this time: it repeats the call, and makes no task.
    const declaring = { capabilities: { ...capabilities, ...WITH_TASKS } };
    const repeated = modernRequest('tools/call', { ...call, requestState }, declaring);
    const [asTask] = eventsOf(await callProxy(app, gatewayPath(app, agentId), { key: app.apiKey, ...repeated }));
    expect(asTask?.result).toMatchObject({ resultType: 'input_required', inputRequests });
    const otherCall = { ...call, arguments: { message: 'Hello' } };
    const poster = await keyWith(app, { [agentId]: ['*'] });
    for (const wrong of [
      await send(app, { requestState: 'ask:x' }),
      await send(app, { requestState: `${requestState}A` }),
      await send(app, { requestState: requestState?.replace('ask', 'input') }),
      await send(app, { requestState: '' }),
      await send(app, { requestState }, otherCall),
      await send(app, { requestState }, call, poster),
    ]) {
      expect(errorIn(wrong)).toMatchObject({ code: -32600 });
    }
    const rubbish = { [question]: { action: 'accept', content: {} } };
    expect(eventsOf(await send(app, { requestState, inputResponses: rubbish }))[0]?.result).toMatchObject({
      isError: true,
    });
    // Left open by this client: the call waits until somebody else answers.
    const left = send(app, { requestState, inputResponses: { [question]: { action: 'cancel' } } });
    const answers = { requestState, inputResponses: { [question]: { action: 'accept', content: { approve: true } } } };
    const both = await Promise.all([send(other, answers), send(app, answers), left]);
    for (const answer of both) expect(textIn(eventsOf(answer).at(-1)?.result)).toContain('greet says b');
    expect(textIn(eventsOf(await send(other, answers)).at(-1)?.result)).toContain('greet says b');
    expect(await runs()).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  });

  it('asks a legacy client without a task for approvals, once, and any process takes its answer', async () => {
    const agentId = await asking();
    const capabilities = { elicitation: {} };
    const { client } = await openLegacy(app, `gateway/${agentId}`, capabilities);
    const questions: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message);
      return { action: 'accept', content: { approve: true } };
    });
    const result = await client.callTool({ name: 'ask', arguments: { message: '/call greet {"text":"a"}' } });
    expect(textIn(result)).toContain('greet says a');
    expect(questions).toEqual([expect.stringContaining('{"text":"a"}')]);
    await client.close();

    const path = gatewayPath(app, agentId);
    const session = await openSession(app, path, { capabilities });
    const args = { message: '/call greet {"text":"b"}' };
    const { asked, rest } = await callAsking(app, path, session, { args });
    for (const answer of [{ action: 'cancel' }, { action: 'accept', content: { approve: true } }]) {
      expect((await answerWith(other, path, session, { id: asked.id, result: answer })).status).toBe(202);
    }
    const messages = await rest;
    expect(messages).toHaveLength(1);
    expect(textIn(messages[0]?.result)).toContain('greet says b');
  });

  it('leaves the run of a client that has been asked as it is when a request ends that waits for it', async () => {
    const agentId = await asking();
    const permissions = { self: ['*'], [agentId]: ['*'] };
    const created = await app.tool('API_KEY_CREATE', { name: 'test', permissions });
    const { id, key } = created.body as { id: string; key: string };
    const path = gatewayPath(app, agentId);
    const call = { name: 'ask', arguments: { message: '/call greet {"text":"a"}' } };
    const capabilities = { elicitation: { form: {} } };
    // The first report of progress says that the call waits.
    const repeated = (more: object) =>
      modernRequest('tools/call', { ...call, ...more }, { capabilities, progressToken: 1 });
    const asked = eventsOf(await callProxy(app, path, { key, ...repeated({}) })).at(-1);
    const state = (asked?.result ?? {}) as { inputRequests?: object; requestState?: string };
    const { inputRequests = {}, requestState } = state;
    const answered = (answer: object): object => ({
      requestState,
      inputResponses: Object.fromEntries(Object.keys(inputRequests).map((question) => [question, answer])),
    });
    const waiting = { key, ...repeated(answered({ action: 'cancel' })) };

    const leaving = await openProxy(app, path, waiting);
    leaving.destroy();
    await eventually(async () =>
      expect(await auditOf(app, String(leaving.headers['x-request-id']))).toMatchObject({
        error_code: 'request_abandoned',
      }),
    );
    const revoked = await openProxy(app, path, waiting);
    await app.tool('API_KEY_UPDATE', { id, permissions: { ...permissions, [own.connectionId]: ['*'] } });
    expect(await text(revoked)).toContain('credential_invalid');
    const described = { description: 'Answers at once.', ask_timeout_s: 1 };
    await app.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: described });
    await eventually(async () =>
      expect((await listThrough(app, path, key)).tools[0]?.description).toContain(described.description),
    );
    const late = eventsOf(await callProxy(app, path, waiting)).at(-1)?.result;
    expect(textIn(late)).toContain('within 1 s');

    await app.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id: agentId, data: { ask_timeout_s: 600, description: null } });
    await eventually(async () =>
      expect((await listThrough(app, path, key)).tools[0]?.description).not.toContain(described.description),
    );
    const approval = answered({ action: 'accept', content: { approve: true } });
    const result = eventsOf(await callProxy(app, path, { key, ...repeated(approval) })).at(-1)?.result;
    expect(textIn(result)).toContain('greet says a');
  });

  it('begins the stream of a modern client while the run goes on', async () => {
    const agentId = await exposed();
    const call = modernRequest('tools/call', { name: 'ask', arguments: { message: '/wait 60000' } });
    const response = await openProxy(app, gatewayPath(app, agentId), { key: app.apiKey, ...call });
    expect(response.headers['content-type']).toContain('text/event-stream');
    const where = { field: ['agent_id'], operator: 'eq', value: agentId };
    const id = await eventually(async () => {
      const { items } = await succeed<{ items: { id: string }[] }>(app, 'RUN_LIST', { where });
      expect(items).toMatchObject([{ status: expect.stringMatching(/^(?:queued|running)$/) }]);
      return String(items[0]?.id);
    });
    await succeed(app, 'RUN_CANCEL', { id });
    const received = await text(response);
    expect(received).toMatch(/^:[^\n]*\n\n/);
    expect(eventsOf({ text: received }).at(-1)?.result).toMatchObject({ isError: true });
  });

  it('reports progress while the run goes on', async () => {
    const { client } = await openLegacy(app, `gateway/${await exposed()}`);
    const seen: unknown[] = [];
    const leaving = new AbortController();
    const onprogress = (progress: unknown): void => {
      seen.push(progress);
      leaving.abort();
    };
    const call = { name: 'ask', arguments: { message: '/wait 60000' } };
    await expect(client.callTool(call, undefined, { signal: leaving.signal, onprogress })).rejects.toThrow();
    expect(seen[0]).toEqual({ progress: 1, message: expect.stringMatching(/^(queued|running)$/) as unknown });
    await client.close();
  });
});
