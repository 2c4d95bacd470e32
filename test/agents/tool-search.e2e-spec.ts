import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startMcpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import { serveTier, succeed, ThreadClient } from '../support/agent-runs.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { type FakeOpenAI, startFakeOpenAI } from '../support/fake-openai.js';
import { agentOf } from '../support/gateway-agents.js';
import { connectTo } from '../support/proxy-connections.js';
import { Upstreams } from '../support/upstreams.js';
import { answer } from '../runtime/approvals/approvals.support.js';

let app: Tenant;
let fake: FakeOpenAI;
const upstreams = new Upstreams();
const MANY = Array.from({ length: 41 }, (_, i) => `filler_${i}`);

beforeAll(async () => {
  [app, fake] = await Promise.all([newTenant(), startFakeOpenAI()]);
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

async function agent(tools: readonly string[], more: object): Promise<string> {
  return agentOf(app, [await upstreams.connection(app, 'Left', ...tools)], more);
}

const search = (query: string): string => `/call search_tools ${JSON.stringify({ query })}`;

interface ToolPart {
  toolName: string;
  state: string;
  output?: { content: { text: string }[] };
  errorText?: string;
}

/** Runs the directives to the end; returns what came of the calls, and the metadata of the answer. */
async function ask(
  thread: ThreadClient,
  ...directives: string[]
): Promise<{ parts: ToolPart[]; metadata: Record<string, unknown> }> {
  const { taskId, ...collected } = await thread.ask(directives.join('\n'));
  const { parts, metadata } = await thread.expectWhole(taskId, collected);
  expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  return { parts: parts.filter((part) => 'toolCallId' in part) as unknown as ToolPart[], metadata };
}

/** The names of the tools that the model gets with its first request of a run. */
async function offered(thread: ThreadClient): Promise<string[]> {
  const { taskId } = await thread.ask('What do you have?', { tier: 'thinking' });
  expect(await thread.run(taskId)).toMatchObject({ status: 'completed' });
  return (fake.requests.at(-1)?.body.tools ?? []).map((tool) => tool.function.name);
}

describe('an agent in search mode', () => {
  it('offers the search and the pinned tools, and then what was found, for the rest of the thread', async () => {
    const id = await agent(['create_issue', 'list_issues', 'weather'], {
      tool_mode: 'search',
      pinned_tools: ['weather', 'gone'],
    });
    const thread = await ThreadClient.create(app, id);
    expect(await offered(thread)).toEqual(['search_tools', 'weather']);

    const { parts, metadata } = await ask(thread, search('create an issue'), '/call create_issue {"text":"a"}');
    expect(parts).toMatchObject([
      { toolName: 'search_tools', state: 'output-available' },
      { toolName: 'create_issue', state: 'output-available' },
    ]);
    expect(parts[0]?.output?.content[0]?.text).toMatch(/^create_issue: The tool create_issue\n/);
    expect(parts[1]?.output?.content).toEqual([{ type: 'text', text: 'create_issue says a' }]);
    expect(metadata['found_tools']).toEqual(expect.arrayContaining(['create_issue', 'list_issues']));

    expect((await offered(thread)).toSorted()).toEqual(['create_issue', 'list_issues', 'search_tools', 'weather']);
    expect(await offered(await ThreadClient.create(app, id))).toEqual(['search_tools', 'weather']);
  });

  it('refuses a tool that was not found, and one that is called in the step of its search', async () => {
    const thread = await ThreadClient.create(app, await agent(['create_issue'], { tool_mode: 'search' }));
    fake.script({ kind: 'tool-calls', calls: [{ name: 'create_issue', arguments: { text: 'a' } }] });
    const early = await thread.ask('Guess', { tier: 'thinking' });
    expect((await thread.answer(early.taskId)).parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { toolName: 'create_issue', state: 'output-error' },
    ]);
    fake.script({
      kind: 'tool-calls',
      calls: [
        { name: 'search_tools', arguments: { query: 'issue' } },
        { name: 'create_issue', arguments: { text: 'a' } },
      ],
    });
    const { taskId } = await thread.ask('Both', { tier: 'thinking' });
    expect((await thread.answer(taskId)).parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { toolName: 'search_tools', state: 'output-available' },
      { toolName: 'create_issue', state: 'output-error' },
    ]);
  });

  it.each([
    ['an empty query', { query: '' }, /query/],
    ['a blank query', { query: ' \n' }, /Must contain a word/],
    ['no query', {}, /query: This property is required/],
    ['a query of 1,000 characters', { query: 'x'.repeat(1_000) }, /query/],
    ['a limit of 0', { query: 'x', limit: 0 }, /limit/],
    ['a limit of 1,000', { query: 'x', limit: 1_000 }, /limit/],
    ['something unknown', { query: 'x', connection: 'y' }, /connection: This property is not accepted/],
  ])('tells the model about %s', async (_what, args, message) => {
    const thread = await ThreadClient.create(app, await agent(['echo'], { tool_mode: 'search' }));
    const { parts } = await ask(thread, `/call search_tools ${JSON.stringify(args)}`);
    expect(parts).toMatchObject([{ state: 'output-error', errorText: expect.stringMatching(message) }]);
  });

  it('says that nothing was found', async () => {
    const thread = await ThreadClient.create(app, await agent(['echo'], { tool_mode: 'search' }));
    const { parts, metadata } = await ask(thread, search('zzzzzz'));
    expect(parts[0]?.output?.content[0]?.text).toBe('No tool matches these words. Try others.');
    expect(metadata).not.toHaveProperty('found_tools');
  });

  it('keeps the 64 tools that were found last', async () => {
    const tools = Array.from({ length: 80 }, (_, i) => (i < 40 ? `alpha_${i}` : `omega_${i}`));
    const thread = await ThreadClient.create(app, await agent(tools, { tool_mode: 'search' }));
    const every = (query: string): string => `/call search_tools ${JSON.stringify({ query, limit: 50 })}`;
    await ask(thread, every('alpha'));
    const { metadata } = await ask(thread, every('omega'));
    const found = metadata['found_tools'] as string[];
    expect(found).toHaveLength(64);
    expect(found.filter((name) => name.startsWith('omega'))).toHaveLength(40);
    expect(new Set(await offered(thread))).toEqual(new Set(['search_tools', ...found]));
  });

  it('gives a tool of an upstream that has the name of the search its prefix', async () => {
    const id = await agent(['search_tools', 'call_tool', 'echo'], {});
    const names = async (): Promise<string[]> =>
      (await succeed<{ tools: { name: string }[] }>(app, 'COLLECTION_VIRTUAL_MCP_GET', { id })).tools.map(
        ({ name }) => name,
      );
    const { parts } = await ask(await ThreadClient.create(app, id), '/call search_tools {"text":"a"}');
    expect(await names()).toEqual(['call_tool', 'echo', 'search_tools']);
    expect(parts[0]?.output?.content).toEqual([{ type: 'text', text: 'search_tools says a' }]);
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { tool_mode: 'search' } });
    expect(await names()).toEqual(['echo', 'left_call_tool', 'left_search_tools']);
    const thread = await ThreadClient.create(app, id);
    const found = await ask(thread, search('search tools'), '/call left_search_tools {"text":"b"}');
    expect(found.parts[1]?.output?.content).toEqual([{ type: 'text', text: 'search_tools says b' }]);
  });

  it('finds a tool that was added meanwhile, and not one whose connection is switched off', async () => {
    const connection = await upstreams.connection(app, 'Left', 'create_issue');
    const other = await upstreams.connection(app, 'Right', 'close_issue');
    const id = await agentOf(app, [connection], { tool_mode: 'search' });
    const thread = await ThreadClient.create(app, id);
    expect((await ask(thread, search('issue'))).metadata['found_tools']).toEqual(['create_issue']);
    const connections = [{ connection_id: connection }, { connection_id: other }];
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } });
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: connection, data: { status: 'inactive' } });
    const { parts } = await ask(thread, search('issue'));
    expect(parts[0]?.output?.content[0]?.text).toBe('close_issue: The tool close_issue');
    expect(await offered(thread)).toEqual(['search_tools', 'close_issue']);
  });

  it('asks before a found tool that needs an approval, and calls it under the rules of its agent', async () => {
    const connection = await upstreams.connection(app, 'Left', 'create_issue');
    const id = await agentOf(app, [], { tool_mode: 'search' });
    const connections = [{ connection_id: connection, approval: 'all' }];
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { connections } });
    const thread = await ThreadClient.create(app, id);
    const taskId = await thread.postMessage([search('issue'), '/call create_issue {"text":"a"}'].join('\n'));
    const { pending_approvals: pending } = await thread.waitFor(taskId, 'waiting', 'completed', 'failed');
    expect(pending).toMatchObject([{ tool_name: 'create_issue' }]);
    await answer(app, thread.id, pending[0]?.id ?? '', { approved: true }).expect(202);
    await thread.waitFor(taskId, 'completed');
    const stored = await thread.answer(taskId);
    // The attempt after the approval knows what was found in the one before.
    expect(stored.metadata['found_tools']).toEqual(['create_issue']);
    expect(stored.parts.filter((part) => 'toolCallId' in part)).toMatchObject([
      { toolName: 'search_tools', state: 'output-available' },
      { toolName: 'create_issue', state: 'output-available' },
    ]);
  });
});

describe('an agent in the mode auto', () => {
  it.each([
    [40, 'all'],
    [41, 'search'],
  ])('with %i tools applies %s', async (count, applied) => {
    const id = await agent(MANY.slice(0, count), { tool_mode: 'auto' });
    // The first run lists the tools.
    const names = await offered(await ThreadClient.create(app, id));
    expect(names).toHaveLength(applied === 'all' ? count : 1);
    expect(await succeed(app, 'COLLECTION_VIRTUAL_MCP_GET', { id })).toMatchObject({ applied_tool_mode: applied });
  });

  it.each([
    [39_000, ['long', 'short']],
    [41_000, ['search_tools']],
  ])('with a definition of more than %i bytes offers %j', async (length, names) => {
    const tool = { handler: () => 'done' };
    const upstream = await startMcpUpstream({ long: { ...tool, description: 'x'.repeat(length) }, short: tool });
    try {
      const id = await agentOf(app, [await connectTo(app, upstream.url)], { tool_mode: 'auto' });
      expect(await offered(await ThreadClient.create(app, id))).toEqual(names);
    } finally {
      await upstream.close();
    }
  });
});

describe('the settings', () => {
  it('are all tools and none pinned at first, and can be changed', async () => {
    const id = await agent(['echo'], {});
    const get = (): Promise<Record<string, unknown>> => succeed(app, 'COLLECTION_VIRTUAL_MCP_GET', { id });
    await offered(await ThreadClient.create(app, id));
    const first = await get();
    expect(first).toMatchObject({ item: { tool_mode: 'all', pinned_tools: [] }, applied_tool_mode: 'all' });
    const { all, search: searching } = first['definition_tokens'] as { all: number; search: number };
    expect(all).toBeGreaterThan(10);
    expect(searching).toBeGreaterThan(10);
    const data = { tool_mode: 'search', pinned_tools: ['echo'] };
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data });
    expect(await get()).toMatchObject({
      item: data,
      applied_tool_mode: 'search',
      definition_tokens: { all, search: searching + all },
    });
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { title: 'Other' } });
    expect(await get()).toMatchObject({ item: data });
    await succeed(app, 'COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: { pinned_tools: null } });
    expect(await get()).toMatchObject({ item: { tool_mode: 'search', pinned_tools: [] } });
  });

  it.each([
    [{ tool_mode: 'some' }, 'data.tool_mode'],
    [{ tool_mode: null }, 'data.tool_mode'],
    [{ pinned_tools: 'echo' }, 'data.pinned_tools'],
    [{ pinned_tools: ['echo', 'echo'] }, 'data.pinned_tools'],
    [{ pinned_tools: ['with space'] }, 'data.pinned_tools'],
    [{ pinned_tools: Array.from({ length: 101 }, (_, i) => `tool_${i}`) }, 'data.pinned_tools'],
  ])('cannot be %j', async (data, path) => {
    const { status, body } = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', ...data } });
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { errors: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
  });
});
