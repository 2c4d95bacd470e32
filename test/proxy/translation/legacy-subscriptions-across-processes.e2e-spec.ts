import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { modernRequest } from '../../support/era-clients.js';
import { Program } from '../../support/program.js';
import { callProxy, openProxy, pathOf } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { Subscription } from '../../support/subscription.js';
import { newTenantOfTwo, type Tenant } from '../../support/tenant.js';

const SERVER = fileURLToPath(new URL('../../support/stdio-fixtures/reporting-server.mjs', import.meta.url));

let processes: Tenant[] = [];
let folder: string;
let server: Program;
let path: string;

beforeAll(async () => {
  processes = await newTenantOfTwo();
  folder = await mkdtemp(join(tmpdir(), 'legacy-subscriptions-'));
  server = new Program(process.execPath, [SERVER, join(folder, 'ledger'), '--http']);
  const [, port] = await server.printed(/port (\d+)/);
  path = pathOf(at(0), await connectTo(at(0), `http://127.0.0.1:${port}/mcp`));
});
afterAll(async () => {
  await processes[0]?.close();
  await server?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

function at(index: number): Tenant {
  const tenant = processes[index];
  if (tenant === undefined) throw new Error('The service has two processes.');
  return tenant;
}

it('a subscription in each process hears of what a call in the other one changes', async () => {
  const notifications = { resourceSubscriptions: ['note://one'], toolsListChanged: true };
  const listen = async (tenant: Tenant): Promise<Subscription> => {
    const request = modernRequest('subscriptions/listen', { notifications });
    const subscription = new Subscription(await openProxy(tenant, path, { key: tenant.apiKey, ...request }));
    await subscription.next(0);
    return subscription;
  };
  const subscriptions = [await listen(at(0)), await listen(at(1))];
  for (const [index, name] of ['touch', 'grow'].entries()) {
    const tenant = at(index);
    const request = modernRequest('tools/call', { name, arguments: { uri: 'note://one' } });
    await callProxy(tenant, path, { key: tenant.apiKey, ...request });
    const method = name === 'grow' ? 'notifications/tools/list_changed' : 'notifications/resources/updated';
    for (const subscription of subscriptions) expect(await subscription.next(index + 1)).toMatchObject({ method });
  }
  for (const subscription of subscriptions) subscription.close();
});
