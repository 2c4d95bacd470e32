import { beforeAll, expect, it } from '@jest/globals';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { modernRequest } from '../../support/era-clients.js';
import { callProxy, openProxy, pathOf } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { Subscription } from '../../support/subscription.js';
import { type Tenant } from '../../support/tenant.js';
import { useTenantOfTwo } from '../../support/use-started.js';

const processes = useTenantOfTwo();
const { serve } = useFixtureServers('reporting-server');
let path: string;

beforeAll(async () => {
  const { url } = await serve('ledger');
  path = pathOf(processes[0], await connectTo(processes[0], url));
});

async function listen(tenant: Tenant, notifications: object): Promise<Subscription> {
  const request = modernRequest('subscriptions/listen', { notifications });
  const subscription = new Subscription(await openProxy(tenant, path, { key: tenant.apiKey, ...request }));
  await subscription.next(0);
  return subscription;
}

async function call(tenant: Tenant, name: string, args: object = {}): Promise<void> {
  await callProxy(tenant, path, { key: tenant.apiKey, ...modernRequest('tools/call', { name, arguments: args }) });
}

/**
 * Waits until the server's stream of changes to the process is open: one that opens late says that everything may have
 * changed.
 */
async function untilReporting(tenant: Tenant): Promise<void> {
  const subscription = await listen(tenant, { resourceSubscriptions: ['note://ready'] });
  await call(tenant, 'touch', { uri: 'note://ready' });
  await subscription.next(1);
  subscription.close();
}

it('a subscription in each process hears of what a call in the other one changes', async () => {
  for (const tenant of processes) await untilReporting(tenant);
  const filter = { resourceSubscriptions: ['note://one'], toolsListChanged: true };
  const subscriptions = [await listen(processes[0], filter), await listen(processes[1], filter)];
  for (const [index, name] of (['touch', 'grow'] as const).entries()) {
    await call(processes[name === 'touch' ? 0 : 1], name, { uri: 'note://one' });
    const method = name === 'grow' ? 'notifications/tools/list_changed' : 'notifications/resources/updated';
    for (const subscription of subscriptions) expect(await subscription.next(index + 1)).toMatchObject({ method });
  }
  for (const subscription of subscriptions) subscription.close();
});
