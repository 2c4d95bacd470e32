import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Fixture, startFixture } from '../../conformance/fixture/start-fixture.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, rpc, rpcOf } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';

let app: Tenant;
/** Supports the modern era (2026-07-28) for clients that request it, as the service does. */
let fixture: Fixture;
let url: URL;
let tasks: ScriptedServer;
/** An agent with one tool that can be called as a task. */
let taskPath: string;
let many: ScriptedServer;
/** An agent with many tools. */
let manyPath: string;

const MANY_TOOLS = Array.from({ length: 400 }, (_, n) => ({
  name: `tool_${100 + n}`,
  description: `${'Möwe 🕊 '.repeat(n)}"tools":[`,
  inputSchema: { type: 'object' },
}));

beforeAll(async () => {
  [app, fixture] = [await newTenant(), await startFixture()];
  const members = [await connectTo(app, fixture.url, { title: 'Left' }), await connectTo(app, fixture.url)];
  tasks = await startScripted(
    legacyServer((request, response) => {
      const tools = [{ name: 'long', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }];
      sendResult(response, request.message, { tools });
    }).script,
  );
  taskPath = gatewayPath(app, await agentOf(app, [await connectTo(app, tasks.url)]));
  many = await startScripted(
    legacyServer((request, response) => sendResult(response, request.message, { tools: MANY_TOOLS })).script,
  );
  manyPath = gatewayPath(app, await agentOf(app, [await connectTo(app, many.url)]));
  url = new URL(gatewayPath(app, await agentOf(app, members)), app.url);
});
afterAll(async () => {
  await app?.close();
  await fixture?.close();
  await Promise.all([tasks?.close(), many?.close()]);
});

describe.each([
  ['legacy', 'legacy' as const],
  ['modern', { pin: '2026-07-28' }],
])('a client of the %s era at an agent over upstreams of the modern era', (_era, mode) => {
  let client: Client;
  beforeAll(async () => {
    client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${app.apiKey}` } };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  });
  afterAll(() => client?.close());

  it('calls tools, including one that requires an argument in a header', async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('left_test_header_parameter');
    const { content } = await client.callTool({ name: 'left_test_multiple_content_types' });
    expect(content.map(({ type }) => type)).toEqual(expect.arrayContaining(['text', 'image', 'resource']));
    const region = { region: 'Zürich' };
    const answered = await client.callTool({ name: 'left_test_header_parameter', arguments: region });
    expect(JSON.stringify(answered.content)).toContain('Zürich');
  });

  /** The answer to `tools/list` with this id, as a client of the era asks. */
  async function listOf(path: string, id: string | number) {
    const isModern = client.getProtocolEra() === 'modern';
    const version = client.getNegotiatedProtocolVersion() ?? '';
    const meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/list',
    };
    const body = { ...rpc('tools/list', isModern ? { _meta: meta } : {}), id };
    const answer = rpcOf(await callProxy(app, path, { key: app.apiKey, headers, body }));
    expect(answer.id).toBe(id);
    expect(answer.result?.['resultType']).toBe(isModern ? 'complete' : undefined);
    return answer.result;
  }

  it('lists what it has no word for, such as how a tool is executed', async () => {
    const result = await listOf(taskPath, 1);
    expect(result?.tools).toMatchObject([{ name: 'long', execution: { taskSupport: 'optional' } }]);
  });

  it('lists many tools, which are sent in pieces', async () => {
    const result = await listOf(manyPath, '"tools":[');
    expect(result?.tools).toEqual(MANY_TOOLS);
  });

  it('receives progress', async () => {
    const heard: unknown[] = [];
    const onprogress = (progress: object): void => void heard.push(progress);
    await client.callTool({ name: 'left_test_tool_with_progress' }, { onprogress });
    expect(heard.slice(0, 2)).toMatchObject([{ progress: 0 }, { progress: 50 }]);
  });

  it('reads resources and prompts, and completes', async () => {
    const uri = 'test://template/7/data';
    expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri);
    const name = 'left_test_prompt_with_arguments';
    expect((await client.listPrompts()).prompts.map((prompt) => prompt.name)).toContain(name);
    const { messages } = await client.getPrompt({ name, arguments: { arg1: 'one', arg2: 'two' } });
    expect(JSON.stringify(messages)).toContain('one');
    const ref = { type: 'ref/prompt' as const, name };
    expect(await client.complete({ ref, argument: { name: 'arg1', value: 'a' } })).toHaveProperty('completion.values');
  });
});
