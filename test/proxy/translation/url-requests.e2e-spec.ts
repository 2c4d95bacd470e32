import { appendFile, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { newId } from '../../../src/core/ids.js';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { MODERN, modernRequest } from '../../support/era-clients.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, errorIn, eventsOf, pathOf, type ProxyAnswer, type RpcAnswer } from '../../support/proxy-calls.js';
import { auditOf, connectProgram, connectTo } from '../../support/proxy-connections.js';
import {
  JSON_TYPE,
  legacyServer,
  type ScriptedServer,
  sendResult,
  startScripted,
} from '../../support/scripted-upstream.js';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

const PAGE = 'https://a.example/visit';
const URL_CLIENT = { elicitation: { url: {} } };

const app = useStarted(newTenant);
const { argsOf, ledgerOf, serve } = useFixtureServers('slow-server');
/** Where a server looks whether the page has been visited. */
const LEDGER = 'ledger';
let broken: ScriptedServer;
let brokenPath: string;
let places: Record<string, string>;

beforeAll(async () => {
  const connections = {
    server: await connectTo(app, (await serve(LEDGER)).url),
    program: await connectProgram(app, argsOf(LEDGER)),
  };
  places = {};
  for (const [title, id] of Object.entries(connections)) {
    places[`a legacy ${title}`] = pathOf(app, id);
    places[`an agent over a legacy ${title}`] = gatewayPath(app, await agentOf(app, [id]));
  }
  broken = await startScripted(
    legacyServer(({ message }, response) => {
      const tools = [{ name: 'visits', inputSchema: { type: 'object' } }];
      if (message.method === 'tools/list') return sendResult(response, message, { tools });
      const args = (message.params?.['arguments'] ?? {}) as { data?: unknown; status?: number };
      const { data, status = 200 } = args;
      const error = { code: -32042, message: 'Visit it', ...(data !== undefined && { data }) };
      response.writeHead(status, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
      return undefined;
    }).script,
  );
  brokenPath = pathOf(app, await connectTo(app, broken.url));
});
afterEach(() => rm(ledgerOf(LEDGER), { force: true }));
afterAll(() => broken?.close());

function ask(
  path: string,
  params: Record<string, unknown>,
  { method = 'tools/call', capabilities = URL_CLIENT as object, requestId = newId() } = {},
): Promise<ProxyAnswer> {
  const headers = { 'x-request-id': requestId };
  return callProxy(app, path, { key: app.apiKey, ...modernRequest(method, params, { capabilities, headers }) });
}

const resultIn = (answer: ProxyAnswer): RpcAnswer['result'] =>
  String(answer.headers['content-type']).startsWith('text/event-stream')
    ? eventsOf(answer).at(-1)?.result
    : (JSON.parse(answer.text) as RpcAnswer).result;

const AT = ['server', 'program'].flatMap((kind) => [`a legacy ${kind}`, `an agent over a legacy ${kind}`]);

describe.each(AT)('an upstream that needs a page visited: %s', (at) => {
  it('asks a modern client to open it, until it answers', async () => {
    for (const [method, params] of [
      ['tools/call', { name: 'visits', arguments: {} }],
      ['prompts/get', { name: 'visits' }],
    ] as const) {
      const asked = await ask(places[at] ?? '', params, { method });
      expect({ status: asked.status, result: resultIn(asked) }).toEqual({
        status: 200,
        result: {
          resultType: 'input_required',
          inputRequests: {
            url_1: { method: 'elicitation/create', params: { mode: 'url', url: PAGE, message: 'Visit it' } },
          },
        },
      });
      const declined = await ask(
        places[at] ?? '',
        { ...params, inputResponses: { url_1: { action: 'decline' } } },
        { method },
      );
      expect(errorIn(declined)?.data.code).toBe('upstream_authorization_required');
      const accepted = { ...params, inputResponses: { url_1: { action: 'accept' } } };
      // Not visited yet, whatever the client says.
      expect(resultIn(await ask(places[at] ?? '', accepted, { method }))).toMatchObject({
        resultType: 'input_required',
      });
      await appendFile(ledgerOf(LEDGER), 'visited\n');
      const answered = await ask(places[at] ?? '', accepted, { method });
      expect(resultIn(answered)).toMatchObject({ resultType: 'complete' });
      expect(answered.text).toContain('seen');
      await rm(ledgerOf(LEDGER));
    }
  });

  it('answers -32021 with 400 to one that does not open URLs', async () => {
    for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }]) {
      const refused = await ask(places[at] ?? '', { name: 'visits', arguments: {} }, { capabilities });
      expect({ status: refused.status, error: errorIn(refused) }).toMatchObject({
        status: 400,
        error: { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } },
      });
    }
  });
});

it.each(AT.filter((at) => at.startsWith('an agent')))(
  'a client of the SDK opens the page and is answered: %s',
  async (at) => {
    const client = new Client(
      { name: 'modern', version: '1' },
      { capabilities: URL_CLIENT, versionNegotiation: { mode: { pin: MODERN } } },
    );
    const pages: unknown[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      pages.push((params as { url?: string }).url);
      await appendFile(ledgerOf(LEDGER), 'visited\n');
      return { action: 'accept' };
    });
    const requestInit = { headers: { authorization: `Bearer ${app.apiKey}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(places[at] ?? '', app.url), { requestInit }));
    const { content } = (await client.callTool({ name: 'visits', arguments: {} })) as CallToolResult;
    expect({ content, pages }).toEqual({ content: [{ type: 'text', text: 'seen' }], pages: [PAGE] });
    await client.close();
  },
);

it.each([
  ['no data', undefined],
  ['no list', { elicitations: 'one' }],
  ['an empty list', { elicitations: [] }],
  ['no page in the list', { elicitations: [{ mode: 'url', url: 7, message: 'x' }, null, 'x'] }],
])('an upstream that asks for nothing that can be opened is answered with another code: %s', async (_what, data) => {
  const args = data === undefined ? {} : { data };
  const answer = await ask(brokenPath, { name: 'visits', arguments: args });
  expect(errorIn(answer)).toMatchObject({ code: -32000, message: 'Visit it' });
});

it('an upstream that asks with HTTP 400 is answered with HTTP 200, as its client must read the result', async () => {
  const data = { elicitations: [{ mode: 'url', elicitationId: 'one', url: PAGE, message: 'Visit it' }] };
  const asked = await ask(brokenPath, { name: 'visits', arguments: { data, status: 400 } });
  expect({ status: asked.status, result: resultIn(asked) }).toMatchObject({
    status: 200,
    result: { resultType: 'input_required', inputRequests: { url_1: { params: { url: PAGE } } } },
  });
});

it('a call whose page was declined is recorded', async () => {
  const requestId = 'url-requests-declined';
  const params = { name: 'visits', arguments: {}, inputResponses: { url_1: { action: 'decline' } } };
  const { status } = await ask(brokenPath, params, { requestId });
  expect(status).toBe(403);
  expect(await auditOf(app, requestId)).toMatchObject({
    tool_name: 'visits',
    status: 'error',
    error_code: 'upstream_authorization_required',
  });
});
