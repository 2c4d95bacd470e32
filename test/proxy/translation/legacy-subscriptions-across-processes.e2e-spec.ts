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

it('a subscription in each process hears of what a call in the other one changes', async () => {
  const notifications = { resourceSubscriptions: ['note://one'], toolsListChanged: true };
  const listen = async (tenant: Tenant): Promise<Subscription> => {
    const request = modernRequest('subscriptions/listen', { notifications });
    const subscription = new Subscription(await openProxy(tenant, path, { key: tenant.apiKey, ...request }));
    await subscription.next(0);
    return subscription;
  };
  const subscriptions = [await listen(processes[0]), await listen(processes[1])];
  for (const [index, name] of (['touch', 'grow'] as const).entries()) {
    const tenant = processes[name === 'touch' ? 0 : 1];
    const request = modernRequest('tools/call', { name, arguments: { uri: 'note://one' } });
    await callProxy(tenant, path, { key: tenant.apiKey, ...request });
    const method = name === 'grow' ? 'notifications/tools/list_changed' : 'notifications/resources/updated';
    for (const subscription of subscriptions) expect(await subscription.next(index + 1)).toMatchObject({ method });
  }
  for (const subscription of subscriptions) subscription.close();
});
