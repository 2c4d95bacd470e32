import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '../support/agent-runs.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { startFixture, type Fixture } from './fixture/start-fixture.js';

/** What one client has done with the server, for comparison with another way there. */
type Flow = (client: Client) => Promise<unknown>;

const TOLD = 'hears that the tools have changed';

const FLOWS: readonly [title: string, flow: Flow][] = [
  ['lists the tools', (client) => client.listTools()],
  ['calls a tool', (client) => client.callTool({ name: 'test_multiple_content_types' })],
  [
    'sends an argument in a header too',
    (client) => client.callTool({ name: 'test_header_parameter', arguments: { region: 'Zürich' } }),
  ],
  [
    'hears of progress',
    async (client) => {
      const heard: unknown[] = [];
      const onprogress = (progress: object): void => void heard.push(progress);
      await client.callTool({ name: 'test_tool_with_progress' }, { onprogress });
      // The client drops progress that an answer overtakes: the last report comes right before it.
      return heard.slice(0, 2);
    },
  ],
  ['is asked for its user', (client) => client.callTool({ name: 'test_input_required_result_elicitation' })],
  ['is asked for its model', (client) => client.callTool({ name: 'test_input_required_result_sampling' })],
  [
    'is asked for three things at once',
    (client) => client.callTool({ name: 'test_input_required_result_multiple_inputs' }),
  ],
  ['is asked twice', (client) => client.callTool({ name: 'test_input_required_result_multi_round' })],
  ['is asked for the sake of a prompt', (client) => client.getPrompt({ name: 'test_input_required_result_prompt' })],
  ['reads a resource', (client) => client.readResource({ uri: 'test://template/7/data' })],
  ['lists the prompts', (client) => client.listPrompts()],
  [
    'completes an argument',
    (client) =>
      client.complete({
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'a' },
      }),
  ],
  [
    TOLD,
    async (client) => {
      const changed = new Promise<unknown>((resolve) => {
        client.setNotificationHandler('notifications/tools/list_changed', ({ method }) => resolve(method));
      });
      const subscription = await client.listen({ toolsListChanged: true });
      await client.callTool({ name: 'test_trigger_tool_change' });
      const method = await changed;
      await subscription.close();
      return method;
    },
  ],
];

let fixture: Fixture;
let app: Tenant;
let direct: Client;
const proxied = new Map<string, Client>();

beforeAll(async () => {
  fixture = await startFixture();
  app = await newTenant();
  const connectionId = await connect(app, fixture.url);
  direct = await open(fixture.url);
  proxied.set('the proxy', await open(`${app.url}/api/${app.org}/mcp/${connectionId}`, app.apiKey));
  proxied.set('an agent', await open(app.url + gatewayPath(app, await agentOf(app, [connectionId])), app.apiKey));
});

afterAll(async () => {
  await direct?.close();
  for (const client of proxied.values()) await client.close();
  await app?.close();
  await fixture?.close();
});

async function open(url: string, apiKey = ''): Promise<Client> {
  const capabilities = { sampling: {}, elicitation: {}, roots: {} };
  const options = { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } };
  const client = new Client({ name: 'modern-client', version: '1.0.0' }, options);
  const content = { name: 'Ada', color: 'blue', context: 'A test', ok: true };
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content }));
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    model: 'test-model',
    content: { type: 'text', text: 'Paris' },
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///tmp/root', name: 'root' }] }));
  const headers = { authorization: `Bearer ${apiKey}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

describe.each(['the proxy', 'an agent'])('@modelcontextprotocol/client 2.4 in the modern era, through %s', (way) => {
  // The fixture says that its tools have changed when they have not, which an agent does not pass on.
  it.each(way === 'an agent' ? FLOWS.filter(([title]) => title !== TOLD) : FLOWS)('%s', async (_title, flow) => {
    const client = proxied.get(way);
    if (client === undefined) throw new Error('No client was opened.');
    expect(client.getProtocolEra()).toBe('modern');
    const expected = await flow(direct);
    expect(comparable(await flow(client))).toEqual(comparable(expected));
  });
});

/**
 * Without what says which server has answered, and for how long its lists may be kept; an agent sorts its tools by
 * name.
 */
function comparable(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return result;
  const { _meta, ttlMs: _ttlMs, cacheScope: _cacheScope, ...rest } = result as Record<string, unknown>;
  const { tools } = rest;
  if (!Array.isArray(tools)) return rest;
  return { ...rest, tools: tools.toSorted((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)) };
}
