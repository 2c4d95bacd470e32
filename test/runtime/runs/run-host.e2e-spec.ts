import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { succeed, ThreadClient } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { openLegacy, openModern } from '../../support/era-clients.js';
import { type EverythingServer, startEverything } from '../../support/everything-server.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { connectProgram, connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { entryOf } from '../../support/reference-servers.js';
import {
  legacyServer,
  type ScriptedServer,
  sendJson,
  sendResult,
  startScripted,
} from '../../support/scripted-upstream.js';
import { png } from '../files/files.support.js';

const PNG = png().toString('base64');
const WAV = Buffer.from('RIFF\0\0\0\0WAVEfmt ').toString('base64');
const SVG = Buffer.from('<svg/>').toString('base64');
const LEFT_OUT = /^Here:\n\[A part of this output \(image\/png\) was left out: the model cannot take it\.\]/;

let app: Tenant;
/** A model that sees, and one whose provider refuses every request with an image. */
let seeing: FakeOpenAI;
let blind: FakeOpenAI;
let everything: EverythingServer;
let media: ScriptedServer;

/** The status with which `blind` refuses images. */
let refusal = 400;

beforeAll(async () => {
  [app, seeing, blind, everything] = await Promise.all([
    newTenant(),
    startFakeOpenAI(),
    startFakeOpenAI({
      answer: (request) => {
        if (JSON.stringify(request).includes('image_url')) {
          return { kind: 'status', status: refusal, headers: { 'retry-after-ms': '0' } };
        }
        const results = request.messages.filter(({ role }) => role === 'tool').length;
        if (results >= 2) return { kind: 'text', deltas: ['Nothing to see.'] };
        return { kind: 'tool-calls', calls: [{ id: `c${results}`, name: 'shot', arguments: {} }] };
      },
    }),
    startEverything(),
  ]);
  const provider = async (baseUrl: string): Promise<object> => {
    const data = { title: 'Fake', kind: 'openai-compatible', base_url: baseUrl };
    const { item } = await succeed<{ item: { id: string } }>(app, 'AI_PROVIDER_CREATE', { data });
    return { provider_id: item.id, model: 'fake-model' };
  };
  const data = { thinking: await provider(seeing.baseUrl), fast: await provider(blind.baseUrl) };
  await succeed(app, 'MODEL_TIERS_SET', { data });
  media = await startScripted(legacyServer(mediaServer).script);
});
afterAll(async () => {
  await Promise.all([app?.close(), seeing?.close(), blind?.close(), everything?.close(), media?.close()]);
});
afterEach(() => {
  refusal = 400;
  for (const model of [seeing, blind]) model.requests.length = 0;
});

const mediaServer: Parameters<typeof legacyServer>[0] = ({ message }, response) => {
  const tool = (name: string, visibility?: string[]): object => ({
    name,
    inputSchema: { type: 'object' },
    ...(visibility && { _meta: { ui: { resourceUri: 'ui://a', visibility } } }),
  });
  const tools = [tool('shot'), tool('both', ['model', 'app']), tool('hidden', ['app']), tool('nobody', [])];
  const content = [
    { type: 'text', text: 'Here:' },
    { type: 'image', data: PNG, mimeType: 'image/png' },
    { type: 'audio', data: WAV, mimeType: 'audio/wav' },
    { type: 'image', data: SVG, mimeType: 'image/svg+xml' },
  ];
  sendResult(response, message, message.method === 'tools/list' ? { tools } : { content });
};

/** Asks on the thread, and expects the run to complete; returns the messages that the model was sent last. */
async function ask(thread: ThreadClient, text: string, tier: string, model = seeing) {
  const { taskId, ...collected } = await thread.ask(text, { tier });
  await thread.expectWhole(taskId, collected);
  expect(await thread.run(taskId)).toMatchObject({ status: 'completed', error: null });
  return model.requests.at(-1)?.body.messages ?? [];
}

describe('images and sounds of results of tools', () => {
  it('reach the model as parts, unless it cannot take them, and app-only tools are not offered', async () => {
    const thread = await ThreadClient.create(app, await agentOf(app, [await connectTo(app, media.url)]));
    seeing.script({ kind: 'tool-calls', calls: [{ name: 'shot', arguments: {} }] });
    const sent = await ask(thread, 'Look.', 'thinking');
    expect(seeing.requests[0]?.body.tools?.map(({ function: { name } }) => name)).toEqual(['both', 'shot']);
    expect(sent.slice(-2)).toMatchObject([
      { role: 'tool', content: expect.stringMatching(/^Here:\n<svg\/>\n\[2 of its parts/) },
      {
        role: 'user',
        content: [
          { text: expect.stringContaining('shot') },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
          { type: 'input_audio', input_audio: { format: 'wav', data: WAV } },
        ],
      },
    ]);
    expect(JSON.stringify(sent).split(PNG)).toHaveLength(2);
    // The tool for the app alone is not called either, whatever a model asks for.
    await ask(thread, '/call hidden {}', 'smart');
    expect(media.calls('tools/call').map(({ message }) => message.params?.['name'])).toEqual(['shot']);
  });

  it.each([400, 404, 500])(
    'fail no run and no later run of the thread if the provider answers %d to them',
    async (status) => {
      refusal = status;
      const thread = await ThreadClient.create(app, await agentOf(app, [await connectTo(app, media.url)]));
      const isRefused = ({ body }: FakeOpenAI['requests'][number]): boolean =>
        JSON.stringify(body).includes('image_url');
      const callsPerRefusal = status === 500 ? 3 : 1;
      const first = await ask(thread, 'Look.', 'fast', blind);
      expect(first.at(-1)).toMatchObject({ role: 'tool', content: expect.stringMatching(LEFT_OUT) });
      // Two results, but the model is asked once in the run whether it sees.
      expect(first.filter(({ role }) => role === 'tool')).toHaveLength(2);
      expect(blind.requests.filter(isRefused)).toHaveLength(callsPerRefusal);
      await ask(thread, 'Look again.', 'fast', blind);
      expect(blind.requests.filter(isRefused)).toHaveLength(2 * callsPerRefusal);
      // A model that sees gets them from the same thread.
      expect(JSON.stringify(await ask(thread, 'And you?', 'thinking'))).toContain('image_url');
    },
  );

  it('come from a server of npm, and only the newest twenty are sent', async () => {
    const thread = await ThreadClient.create(app, await agentOf(app, [await connectTo(app, everything.url)]));
    const calls = Array.from({ length: 25 }, (_, n) => ({ id: `c${n}`, name: 'get-tiny-image', arguments: {} }));
    seeing.script({ kind: 'tool-calls', calls });
    const sent = JSON.stringify(await ask(thread, 'Look.', 'thinking'));
    expect(sent.split('data:image/png;base64,')).toHaveLength(21);
    expect(sent.split('was left out')).toHaveLength(6);
  });
});

describe('a tool that can be called only as a task', () => {
  const NAME = 'simulate-research-query';
  const args = { topic: 'signal boxes' };
  const report = expect.stringContaining('Research Report: signal boxes');

  it('is called as one in runs and through agents, over HTTP and at a program', async () => {
    const program = await connectProgram(app, [entryOf('server-everything'), 'stdio']);
    const agents = [await agentOf(app, [await connectTo(app, everything.url)]), await agentOf(app, [program])];
    await Promise.all(
      agents.map(async (agent) => {
        const path = gatewayPath(app, agent);
        const { tools } = (await listThrough(app, path)) as { tools: { name: string; execution?: object }[] };
        expect(tools.find(({ name }) => name === NAME)?.execution).toEqual({ taskSupport: 'forbidden' });
        const thread = await ThreadClient.create(app, agent);
        const [legacy, modern] = await Promise.all([openLegacy(app, agent), openModern(app, agent)]);
        const answering = await openLegacy(app, agent, { sampling: {}, elicitation: {} });
        // Clients of the SDK refuse a tool that needs a task unless they have listed that it does not.
        await Promise.all([legacy, answering].map(({ client }) => client.listTools()));
        const [asked, plain, ...called] = await Promise.all([
          thread.ask(`/call ${NAME} ${JSON.stringify(args)}`),
          callThrough(app, path, NAME, args),
          ...[legacy.client, modern, answering.client].map(
            async (client) => (await client.callTool({ name: NAME, arguments: args })) as CallToolResult,
          ),
        ]);
        const { parts } = await thread.expectWhole(asked.taskId, asked);
        expect(parts).toContainEqual(
          expect.objectContaining({ output: expect.objectContaining({ content: [{ type: 'text', text: report }] }) }),
        );
        expect(plain.rpc.result?.content).toMatchObject([{ text: report }]);
        for (const { content } of called) expect(content).toMatchObject([{ text: report }]);
        await Promise.all([legacy.client.close(), modern.close(), answering.client.close()]);
      }),
    );
  });

  it('is cancelled at the upstream with its run, and the call is not repeated when the upstream forgets it', async () => {
    let forgets = false;
    const tools = [{ name: 'long', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }];
    const task = {
      taskId: 'task-1',
      status: 'working',
      pollInterval: 100,
      ttl: null,
      createdAt: '',
      lastUpdatedAt: '',
    };
    const server = await startScripted((request, response) => {
      const { message } = request;
      const { method, id } = message;
      if (method === 'initialize') {
        const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
        const serverInfo = { name: 'tasks', version: '1' };
        const result = { protocolVersion: '2025-11-25', capabilities, serverInfo };
        return sendJson(response, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': 'one' });
      }
      if (method === 'server/discover') return void response.writeHead(400).end();
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'tools/list') return sendResult(response, message, { tools });
      if (method === 'tasks/get' && forgets) return void response.writeHead(404).end();
      return sendResult(response, message, method === 'tools/call' ? { task } : task);
    });
    const thread = await ThreadClient.create(app, await agentOf(app, [await connectTo(app, server.url)]));
    const taskId = await thread.postMessage('/call long {}');
    await eventually(() => expect(server.calls('tasks/get').length).toBeGreaterThan(1));
    await succeed(app, 'RUN_CANCEL', { id: taskId });
    await eventually(() => expect(server.calls('tasks/cancel').length).toBeGreaterThan(0));
    expect(server.calls('tasks/cancel')[0]?.message.params).toMatchObject({ taskId: 'task-1' });
    await thread.waitFor(taskId, 'cancelled');

    forgets = true;
    const { taskId: next, ...collected } = await thread.ask('/call long {}');
    const { parts } = await thread.expectWhole(next, collected);
    expect(parts).toContainEqual(
      expect.objectContaining({ errorText: expect.stringContaining('no longer knows the task') }),
    );
    expect(server.calls('tools/call')).toHaveLength(2);
    await server.close();
  });
});
