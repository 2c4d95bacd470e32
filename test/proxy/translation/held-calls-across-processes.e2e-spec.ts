import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { modernRequest } from '../../support/era-clients.js';
import { Program } from '../../support/program.js';
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
import { newTenantOfTwo, type Tenant } from '../../support/tenant.js';

const SERVER = fileURLToPath(new URL('../../support/stdio-fixtures/asking-server.mjs', import.meta.url));

let [first, second]: Tenant[] = [];
let folder: string;
let server: Program;
let path: string;

beforeAll(async () => {
  [first, second] = await newTenantOfTwo();
  folder = await mkdtemp(join(tmpdir(), 'held-calls-'));
  server = new Program(process.execPath, [SERVER, join(folder, 'ledger'), '--http']);
  const [, port] = await server.printed(/port (\d+)/);
  path = pathOf(at(first), await connectTo(at(first), `http://127.0.0.1:${port}/mcp`));
});
afterAll(async () => {
  await first?.close();
  await server?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

function at(tenant: Tenant | undefined): Tenant {
  if (tenant === undefined) throw new Error('The service has two processes.');
  return tenant;
}

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

const callsSoFar = async (): Promise<number> =>
  (await readFile(join(folder, 'ledger'), 'utf8')).split('\n').filter((line) => line === 'began').length;

it('answers that reach another process are asked for again where the call can be repeated', async () => {
  for (const [params, method] of [
    [{ name: 'read', arguments: {} }, 'tools/call'],
    [{ name: 'ask' }, 'prompts/get'],
    [{ uri: 'ask://one' }, 'resources/read'],
  ] as const) {
    const retry = await retryOf(at(first), params, method);
    const again = resultIn(await send(at(second), retry, method));
    expect(again).toMatchObject({ resultType: 'input_required' });
    const { inputResponses } = retry;
    const answered = await send(
      at(second),
      { ...params, inputResponses, requestState: again?.['requestState'] },
      method,
    );
    expect(answered.text).toContain('Ada');
  }
});

it('the outcome of any other call is unknown there, and its own process still takes the answers', async () => {
  const retry = await retryOf(at(first), { name: 'ask', arguments: {} });
  const calls = await callsSoFar();
  const refused = await send(at(second), retry);
  expect({ status: refused.status, error: errorIn(refused) }).toMatchObject({
    status: 409,
    error: { code: -32000, message: expect.stringContaining('is unknown'), data: { code: 'conflict' } },
  });
  expect(await callsSoFar()).toBe(calls);
  expect(JSON.stringify(resultIn(await send(at(first), retry)))).toContain('Ada');
});
