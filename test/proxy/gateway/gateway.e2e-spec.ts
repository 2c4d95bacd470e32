import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { startEverything, type EverythingServer } from '../../support/everything-server.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { entryOf } from '../../support/reference-servers.js';

const PATIENCE_MS = 60_000;

let app: Tenant;
let everything: EverythingServer;
let folder: string;
let ids: { everything: string; files: string; memory: string };
let agentId: string;

beforeAll(async () => {
  everything = await startEverything();
  app = await newTenant();
  folder = await mkdtemp(join(tmpdir(), 'signalbox-gateway-'));
  await writeFile(join(folder, 'note.txt'), 'Written in the folder');
  ids = {
    everything: await connectTo(app, everything.url, { title: 'Everything' }),
    files: await connectProgram(app, [entryOf('server-filesystem'), folder], { title: 'Files' }),
    memory: await connectProgram(app, [entryOf('server-memory')], {
      title: 'Memory',
      env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
    }),
  };
  agentId = await agentOf(app, Object.values(ids), { instructions: 'Use the files.' });
}, PATIENCE_MS);

afterAll(async () => {
  await app?.close();
  await everything?.close();
  await rm(folder, { recursive: true });
});

const options = (key: string) => ({ requestInit: { headers: { authorization: `Bearer ${key}` } } });
const urlOf = (path: string): URL => new URL(path, app.url);

async function legacy(path: string, key = app.apiKey): Promise<LegacyClient> {
  const client = new LegacyClient({ name: 'test', version: '1' });
  await client.connect(new LegacyTransport(urlOf(path), options(key)));
  return client;
}

async function modern(path: string, key = app.apiKey): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StreamableHTTPClientTransport(urlOf(path), options(key)));
  return client;
}

describe.each([
  ['SDK 1.32', legacy],
  ['client 2.4, modern era', modern],
])('%s, at an agent over everything, filesystem and memory', (_title, connect) => {
  it.each([
    ['the gateway path', () => gatewayPath(app, agentId)],
    ['the path of connections', () => `/api/${app.org}/mcp/${agentId}`],
    ['the legacy path', () => `/mcp/${agentId}`],
  ])('uses the tools of all three on %s', async (_path, path) => {
    const client = await connect(path());
    expect(client.getInstructions()).toBe('Use the files.');
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['echo', 'read_text_file', 'create_entities']));
    expect(await client.callTool({ name: 'echo', arguments: { message: 'häßlich ☃' } })).toMatchObject({
      content: [{ type: 'text', text: 'Echo: häßlich ☃' }],
    });
    const path1 = join(folder, 'note.txt');
    expect(await client.callTool({ name: 'read_text_file', arguments: { path: path1 } })).toMatchObject({
      content: [{ type: 'text', text: 'Written in the folder' }],
    });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
    await client.callTool({ name: 'create_entities', arguments: { entities } });
    expect(JSON.stringify(await client.callTool({ name: 'read_graph', arguments: {} }))).toContain('Ada');
    await client.close();
  });

  it('receives progress', async () => {
    const client = await connect(gatewayPath(app, agentId));
    const heard: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void heard.push(progress);
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } };
    const result =
      client instanceof Client
        ? await client.callTool(call, { onprogress })
        : await client.callTool(call, undefined, { onprogress });
    expect(JSON.stringify(result.content)).toContain('completed');
    expect(heard.slice(0, 2)).toEqual([1, 2]);
    await client.close();
  });

  it('uses prompts, resources and completions', async () => {
    const client = await connect(gatewayPath(app, agentId));
    expect(client.getServerCapabilities()).toMatchObject({ prompts: {}, resources: {}, completions: {} });
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain('args-prompt');
    const prompt = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Berlin', state: 'B' } });
    expect(JSON.stringify(prompt.messages)).toContain('Berlin');
    const { resources } = await client.listResources();
    const uri = resources[0]?.uri ?? '';
    expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.length).toBeGreaterThan(0);
    const dynamic = 'demo://resource/dynamic/text/1';
    expect((await client.readResource({ uri: dynamic })).contents[0]?.uri).toBe(dynamic);
    const completion = await client.complete({
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    });
    expect(completion.completion.values).toContain('Engineering');
    await expect(client.readResource({ uri: 'none://such' })).rejects.toThrow(/no resource/);
    await expect(client.getPrompt({ name: 'none' })).rejects.toThrow(/no prompt/);
    await client.close();
  });

  it('gets only what it is permitted to use', async () => {
    const key = await keyWith(app, { [agentId]: ['echo'], [ids.files]: ['read_text_file'] });
    const client = await connect(gatewayPath(app, agentId), key);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo', 'read_text_file']);
    expect(client.getServerCapabilities()?.prompts).toBeUndefined();
    await client.callTool({ name: 'echo', arguments: { message: 'x' } });
    await expect(client.callTool({ name: 'read_graph', arguments: {} })).rejects.toThrow(/not permitted to call/);
    await client.close();
  });

  it('gets errors for invalid arguments and for an unknown tool', async () => {
    const client = await connect(gatewayPath(app, agentId));
    const wrong = await client.callTool({ name: 'echo', arguments: { message: 7 } });
    expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('arguments.message') }] });
    await expect(client.callTool({ name: 'no-such', arguments: {} })).rejects.toThrow(/no tool with this name/);
    await client.close();
  });
});
