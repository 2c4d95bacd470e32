import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { modernRequest } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, eventsOf, pathOf, type ProxyAnswer } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../../support/scripted-upstream.js';
import { newTenantOfTwo, type Tenant } from '../../support/tenant.js';

const ASK = { name: 'ask', arguments: {} };

/** Two processes: one holds the calls, and what ends them happens in the other. */
let [first, second]: Tenant[] = [];
let upstream: ScriptedServer;
/** Of the client, as far as they reached the upstream. */
let answers: RpcMessage[];

/** Its tool asks, and waits for the answer in the same exchange. */
const asking = legacyServer(async ({ message }, response) => {
  const tools = [{ name: 'ask', inputSchema: { type: 'object' } }];
  if (message.method === 'tools/list') return sendResult(response, message, { tools });
  const params = { message: 'Who?', requestedSchema: {} };
  const question = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params };
  response.writeHead(200, SSE_TYPE).write(`data: ${JSON.stringify(question)}\n\n`);
  await once(response, 'close');
  return undefined;
});

beforeAll(async () => {
  [first, second] = await newTenantOfTwo();
  upstream = await startScripted((request, response) => {
    const { message } = request;
    if (message.method !== undefined || message.id === undefined) return asking.script(request, response);
    answers.push(message);
    response.writeHead(202).end();
    return undefined;
  });
});
beforeEach(() => {
  answers = [];
});
afterAll(async () => {
  await first?.close();
  await upstream?.close();
});

/** The process that holds the calls, and the other one. */
function processes(): [Tenant, Tenant] {
  if (first === undefined || second === undefined) throw new Error('The service has two processes.');
  return [first, second];
}

function send(path: string, params: Record<string, unknown>, key: string): Promise<ProxyAnswer> {
  const [holder] = processes();
  return callProxy(holder, path, {
    key,
    ...modernRequest('tools/call', params, { capabilities: { elicitation: { form: {} } } }),
  });
}

/** Has the client asked, and returns its answer. */
async function retryOf(path: string, key: string): Promise<Record<string, unknown>> {
  const { requestState, inputRequests } = eventsOf(await send(path, ASK, key)).at(-1)?.result ?? {};
  const [name = ''] = Object.keys(inputRequests as object);
  return { ...ASK, requestState, inputResponses: { [name]: { action: 'accept', content: { name: 'Ada' } } } };
}

const cancelledIds = (): unknown[] =>
  upstream.calls('notifications/cancelled').map(({ message }) => message.params?.['requestId']);

type End = (ids: { connection: string; key: string }) => Promise<unknown>;
const edited =
  (data: object): End =>
  ({ connection }) =>
    succeed(processes()[1], 'COLLECTION_CONNECTIONS_UPDATE', { id: connection, data });
const ENDS: [string, End][] = [
  ['gets another token', edited({ connection_token: 'another' })],
  ['is switched off', edited({ status: 'inactive' })],
  ['is deleted', ({ connection }) => succeed(processes()[1], 'COLLECTION_CONNECTIONS_DELETE', { id: connection })],
  ['has a caller whose key is deleted', ({ key }) => succeed(processes()[1], 'API_KEY_DELETE', { id: key })],
];

it.each(ENDS.flatMap(([what, end]) => [[what, 'directly', end] as const, [what, 'through an agent', end] as const]))(
  'a call that waits for its client ends when its connection %s, called %s',
  async (_what, how, end) => {
    const [holder] = processes();
    const connection = await connectTo(holder, upstream.url);
    const path =
      how === 'directly' ? pathOf(holder, connection) : gatewayPath(holder, await agentOf(holder, [connection]));
    const data = { name: 'short', permissions: { '*': ['*'] } };
    const { id: keyId, key } = await succeed<{ id: string; key: string }>(holder, 'API_KEY_CREATE', data);
    const retry = await retryOf(path, key);
    const [called] = upstream.calls('tools/call').slice(-1);
    await end({ connection, key: keyId });
    expect(await called?.hungUp).toBe(true);
    await eventually(() => expect(cancelledIds()).toContain(called?.message.id));
    // The upstream learns that nobody answers, and never gets what the person has entered.
    await send(path, retry, key);
    await eventually(() => expect(answers).toMatchObject([{ id: 'q', error: { code: -32603 } }]));
    expect(JSON.stringify(answers)).not.toContain('Ada');
  },
);
