import { beforeAll, expect, it } from '@jest/globals';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { modernRequest } from '../../support/era-clients.js';
import {
  callProxy,
  errorIn,
  eventsOf,
  pathOf,
  type ProxyAnswer,
  type RpcAnswer,
  rpcOf,
} from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { type Tenant } from '../../support/tenant.js';
import { useTenantOfTwo } from '../../support/use-started.js';

const [first, second] = useTenantOfTwo();
const { countIn, serve } = useFixtureServers('asking-server');
let path: string;

beforeAll(async () => {
  const { url } = await serve('ledger');
  path = pathOf(first, await connectTo(first, url));
});

function send(tenant: Tenant, params: Record<string, unknown>, method = 'tools/call'): Promise<ProxyAnswer> {
  const capabilities = { elicitation: { form: {} } };
  return callProxy(tenant, path, { key: tenant.apiKey, ...modernRequest(method, params, { capabilities }) });
}

const resultIn = (answer: ProxyAnswer): RpcAnswer['result'] =>
  (answer.text.startsWith('{') ? rpcOf(answer) : eventsOf(answer).at(-1))?.result;

async function retryOf(
  tenant: Tenant,
  params: Record<string, unknown>,
  method?: string,
): Promise<Record<string, unknown>> {
  const { inputRequests, requestState } = resultIn(await send(tenant, params, method)) ?? {};
  const [key = ''] = Object.keys(inputRequests as object);
  const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };
  return { ...params, inputResponses, requestState };
}

const callsSoFar = (): number => countIn('ledger', 'began');

it('answers that reach another process are asked for again where the call can be repeated', async () => {
  for (const [params, method] of [
    [{ name: 'read', arguments: {} }, 'tools/call'],
    [{ name: 'ask' }, 'prompts/get'],
    [{ uri: 'ask://one' }, 'resources/read'],
  ] as const) {
    const retry = await retryOf(first, params, method);
    const again = resultIn(await send(second, retry, method));
    expect(again).toMatchObject({ resultType: 'input_required' });
    const { inputResponses } = retry;
    const answered = await send(second, { ...params, inputResponses, requestState: again?.['requestState'] }, method);
    expect(answered.text).toContain('Ada');
  }
});

it('the outcome of any other call is unknown there, and its own process still takes the answers', async () => {
  const retry = await retryOf(first, { name: 'ask', arguments: {} });
  const calls = callsSoFar();
  const refused = await send(second, retry);
  expect({ status: refused.status, error: errorIn(refused) }).toMatchObject({
    status: 409,
    error: { code: -32000, message: expect.stringContaining('is unknown'), data: { code: 'conflict' } },
  });
  expect(callsSoFar()).toBe(calls);
  expect(JSON.stringify(resultIn(await send(first, retry)))).toContain('Ada');
});
