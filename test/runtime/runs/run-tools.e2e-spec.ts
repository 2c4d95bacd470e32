import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { notRecorded } from '../../../src/audit/calls/audit-writer.js';
import { AuditLog } from '../../../src/audit/calls/audit-log.js';
import { serveTier, succeed, textOf, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { legacyServer, sendResult } from '../../support/scripted-upstream.js';
import { DEAD_URL, Upstreams } from '../../support/upstreams.js';

let app: TestApp;
let fake: FakeOpenAI;
const upstreams = new Upstreams();

beforeAll(async () => {
  [app, fake] = await Promise.all([startTestApp(), startFakeOpenAI()]);
  await serveTier(app, 'thinking', fake, { model: 'fake-model' });
});
afterAll(async () => {
  await app?.close();
  await fake?.close();
});
afterEach(async () => {
  fake.requests.length = 0;
  await upstreams.close();
});

const connection = (title: string, ...tools: string[]): Promise<string> => upstreams.connection(app, title, ...tools);

interface Outcome {
  taskId: string;
  said: string;
  toolParts: object[];
}

/** A run that has to complete. */
async function run(agentId: string, text: string, tier?: string): Promise<Outcome> {
  const thread = await ThreadClient.create(app, agentId);
  const { taskId, ...collected } = await thread.ask(text, tier === undefined ? {} : { tier });
  const { parts } = await thread.expectWhole(taskId, collected);
  expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  return { taskId, said: textOf(collected.chunks), toolParts: parts.filter((part) => 'toolCallId' in part) };
}

/** What a model is sent: the tools in their order, and the instructions. */
async function offered(
  agentId: string,
): Promise<{ names: string[]; descriptions: string[]; instructions: string | undefined }> {
  await run(agentId, 'What do you have?', 'thinking');
  const { tools = [], messages } = fake.requests.at(-1)?.body ?? { messages: [] };
  return {
    names: tools.map((tool) => tool.function.name),
    descriptions: tools.map((tool) => tool.function.description ?? ''),
    instructions: messages.find(({ role }) => role === 'system')?.content as string | undefined,
  };
}

async function auditOfRun(taskId: string): Promise<object[]> {
  const where = { field: ['run_id'], operator: 'eq', value: taskId };
  return (await succeed<{ items: object[] }>(app, 'MONITORING_LOGS_LIST', { where })).items;
}

describe('the tools of a run', () => {
  it('are called once the call can be recorded, in the same attempt: it was not sent before', async () => {
    const agentId = await agentOf(app, [await connection('Unrepeatable', 'echo')]);
    const audit = app.app.get(AuditLog, { strict: false });
    const openEntry = audit.openEntry.bind(audit);
    let attempts = 0;
    const open = jest.spyOn(audit, 'openEntry').mockImplementation((facts) => {
      if (facts.entryPoint === 'run' && ++attempts < 3) throw notRecorded();
      return openEntry(facts);
    });
    try {
      const { toolParts, taskId } = await run(agentId, '/call echo {"text":"hello"}');
      expect(toolParts).toEqual([expect.objectContaining({ state: 'output-available' })]);
      expect(attempts).toBe(3);
      expect(await auditOfRun(taskId)).toHaveLength(1);
    } finally {
      open.mockRestore();
    }
  });

  it('have the names of the gateway, in its order, under every kind of conflict', async () => {
    const long = 'a'.repeat(64);
    const [a, b] = [await connection('Same', long, 'echo'), await connection('Same', long, 'echo', 'only')];
    const inner = await agentOf(app, [a, await connection('Third', 'echo', 'odd name!')], { title: 'Inner' });
    const id = await agentOf(app, [b, inner, { connection_id: a, prefix: 'direct' }]);
    const { names } = await listThrough(app, gatewayPath(app, id));
    expect(names).toHaveLength(9);
    expect((await offered(id)).names).toEqual(names);
    for (const name of names) {
      const throughGateway = (await callThrough(app, gatewayPath(app, id), name, { text: 'hello' })).rpc.result;
      const { toolParts } = await run(id, `/call ${name} {"text":"hello"}`);
      expect(toolParts).toMatchObject([{ toolName: name, state: 'output-available', output: throughGateway }]);
    }
  });

  it('of agents inside agents are called with the selection as the permission, and the caller as the identity', async () => {
    const member = await connection('Member', 'echo', 'hidden');
    const innermost = await agentOf(app, [{ connection_id: member, selected_tools: ['echo'] }], { title: 'Innermost' });
    const inner = await agentOf(app, [innermost], { title: 'Inner' });
    const id = await agentOf(app, [inner, await connection('Beside', 'echo')]);
    const { taskId, toolParts, said } = await run(id, '/call inner_echo {"text":"hello"}\n/call hidden {}');
    expect(toolParts).toMatchObject([
      { toolName: 'inner_echo', output: { content: [{ type: 'text', text: 'echo says hello' }] } },
    ]);
    expect(said).toContain('There is no tool "hidden" to call.');
    const { items } = await succeed<{ items: { id: string }[] }>(app, 'API_KEY_LIST', {});
    expect(await auditOfRun(taskId)).toMatchObject([
      {
        door: 'run',
        status: 'success',
        connection_id: member,
        agent_id: id,
        tool_name: 'echo',
        api_key_id: items[0]?.id,
        user_id: null,
      },
    ]);
  });

  it('are those that exist, each once, and no description spoils the request', async () => {
    const { script } = legacyServer((request, response) => {
      const tool = { name: 'big', description: `${'d'.repeat(2 ** 20)}😀`, inputSchema: { type: 'object' } };
      sendResult(response, request.message, { tools: [tool, { ...tool, description: 'second' }] });
    });
    const member = await connectTo(app, (await upstreams.scripted(script)).url);
    const id = await agentOf(app, [{ connection_id: member, selected_tools: ['big', 'gone'] }]);
    const { names, descriptions } = await offered(id);
    expect(names).toEqual(['big']);
    expect(descriptions[0]).toBe('d'.repeat(10_000));
  });
});

describe('arguments that do not validate', () => {
  it('give the model every fault, and do not reach the upstream', async () => {
    const { script } = legacyServer((request, response) => {
      const inputSchema = {
        type: 'object',
        properties: { name: { type: 'string' }, color: { enum: ['red', 'blue'], default: 'red' } },
        required: ['name', 'color'],
      };
      const isList = request.message.method === 'tools/list';
      sendResult(response, request.message, isList ? { tools: [{ name: 'form', inputSchema }] } : { content: [] });
    });
    const server = await upstreams.scripted(script);
    const id = await agentOf(app, [await connectTo(app, server.url)]);
    const { toolParts } = await run(id, '/call form {"color":"green"}\n/call form {"name":"a"}');
    const errorText =
      "The arguments do not match the tool's input schema: arguments.name is required; " +
      'arguments.color must be one of "red", "blue".';
    expect(toolParts).toMatchObject([{ state: 'output-error', errorText }, { state: 'output-available' }]);
    expect(server.calls('tools/call')).toHaveLength(1);
  });
});

describe('the output of a tool', () => {
  it('is bounded in the transcript and for the model, also when the agent has lost the tool, and says so', async () => {
    const text = 'x'.repeat(700_000);
    const { script } = legacyServer((request, response) => {
      const { method } = request.message as { method: string };
      const tool = { name: 'large', inputSchema: { type: 'object' } };
      const content = Array.from({ length: 2 }, () => ({ type: 'text', text }));
      sendResult(response, request.message, method === 'tools/list' ? { tools: [tool] } : { content });
    });
    const member = await connectTo(app, (await upstreams.scripted(script)).url);
    const id = await agentOf(app, [member]);
    const thread = await ThreadClient.create(app, id);
    const { taskId, ...collected } = await thread.ask('/call large {}');
    const { parts } = await thread.expectWhole(taskId, collected);
    const [part] = parts.filter((part) => 'toolCallId' in part) as unknown as {
      output: { content: { text: string }[] };
    }[];
    const blocks = part?.output.content.map((block) => block.text) ?? [];
    const leftOut = 1_400_000 - 1_048_576 + 4096;
    expect(blocks.map(({ length }) => length)).toEqual([700_000, 700_000 - leftOut, expect.any(Number)]);
    expect(blocks[2]).toBe(`[${leftOut} characters of this output were left out.]`);
    const history = { max_tokens: 500_000 };
    for (const connections of [[{ connection_id: member }], []]) {
      await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections, history } });
      await thread.ask('And now?', { tier: 'thinking' });
      const output = fake.requests.at(-1)?.body.messages.find(({ role }) => role === 'tool')?.content as string;
      expect(output).toMatch(/^x{100000}\n\[\d+ characters of this output were left out\.\]$/);
    }
  });
});

describe('a connection that is down', () => {
  const sentence = (title: string): object =>
    expect.stringContaining(`The connection "${title}" is not available right now: `);

  it('is a tool error that names it, before and after it is known to be down, and over when it is back', async () => {
    const { id: left, upstream } = await upstreams.fragile(app, 'Left', 'echo', 'only');
    const id = await agentOf(app, [left, await connection('Right', 'echo')]);
    const all = ['left_echo', 'only', 'right_echo'];
    expect(await offered(id)).toMatchObject({ names: all, instructions: undefined });
    await upstream.cut();

    const calls = '/call left_echo {"text":"hello"}\n/call right_echo {"text":"hello"}';
    const outcomes = [
      { toolName: 'left_echo', state: 'output-error', errorText: sentence('Left') },
      { toolName: 'right_echo', state: 'output-available' },
    ];
    const first = await run(id, calls);
    expect(first.toolParts).toMatchObject(outcomes);
    expect(await auditOfRun(first.taskId)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ connection_id: left, status: 'error' }),
        expect.objectContaining({ tool_name: 'echo', status: 'success' }),
      ]),
    );

    await succeed(app, 'CONNECTION_TEST', { id: left });
    expect(await succeed(app, 'COLLECTION_CONNECTIONS_GET', { id: left })).toMatchObject({ item: { status: 'error' } });
    expect((await listThrough(app, gatewayPath(app, id))).names).toEqual(['right_echo']);
    expect(await offered(id)).toMatchObject({
      names: all,
      descriptions: [sentenceOf('Left'), sentenceOf('Left'), 'The tool echo'],
      instructions: 'The tools of these connections are not available right now: Left.',
    });
    expect((await run(id, calls)).toolParts).toMatchObject(outcomes);

    await upstream.restore();
    await eventually(async () => {
      const { toolParts } = await run(id, '/call left_echo {"text":"hello"}');
      return 'output' in (toolParts[0] ?? {});
    });
    expect((await offered(id)).names).toEqual(all);
  });

  it('costs a run nothing else where it never answered', async () => {
    const dead = await connectTo(app, DEAD_URL, { title: 'Dead' });
    const chosen = { connection_id: await connectTo(app, DEAD_URL, { title: 'Chosen' }), selected_tools: ['pick'] };
    const id = await agentOf(app, [dead, chosen, await connection('Live', 'echo')]);
    const { toolParts } = await run(id, '/call pick {}\n/call echo {"text":"hello"}');
    expect(toolParts).toMatchObject([
      { toolName: 'pick', state: 'output-error', errorText: sentence('Chosen') },
      { toolName: 'echo', state: 'output-available' },
    ]);
  });

  it('by choice is not offered, nor is an agent inside that is switched off', async () => {
    const off = await connection('Off', 'echo', 'off');
    const inner = await agentOf(app, [await connection('Member', 'echo', 'in')], { title: 'Inner' });
    const id = await agentOf(app, [off, inner, await connection('Live', 'echo')]);
    for (const member of [off, inner]) {
      await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: member, data: { status: 'inactive' } });
    }
    expect(await offered(id)).toMatchObject({
      names: ['live_echo'],
      instructions: 'The tools of these connections are not available right now: Off, Inner.',
    });
  });

  it('from one call to the next is a tool error, whether it was switched off or deleted', async () => {
    const [off, gone] = [await connection('Off', 'off'), await connection('Gone', 'gone')];
    const server = await upstreams.holding();
    const id = await agentOf(app, [off, gone, await connectTo(app, server.url, { title: 'Holding' })]);
    await offered(id);
    const thread = await ThreadClient.create(app, id);
    const taskId = await thread.postMessage('/call hold\n/call off {}\n/call gone {}');
    await eventually(() => expect(server.calls()).toBe(1));
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: off, data: { status: 'inactive' } });
    await succeed(app, 'COLLECTION_CONNECTIONS_DELETE', { id: gone });
    server.release();
    const { parts } = await thread.expectWhole(taskId, await thread.collect(taskId));
    expect(parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { toolName: 'hold', state: 'output-available' },
      { toolName: 'off', state: 'output-error', errorText: sentence('Off') },
      { toolName: 'gone', state: 'output-error', errorText: sentence('Gone') },
    ]);
    expect(await thread.run(taskId)).toMatchObject({ status: 'completed' });
  });
});

function sentenceOf(title: string): string {
  return `The connection "${title}" is not available right now.`;
}
