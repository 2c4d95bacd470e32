import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { modernRequest, openModern } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { startEverything } from '../../support/everything-server.js';
import { Program } from '../../support/program.js';
import { callProxy, openProxy, pathOf, type ProxyAnswer } from '../../support/proxy-calls.js';
import { connectProgram, connectTo } from '../../support/proxy-connections.js';
import { ABOUT, Subscription } from '../../support/subscription.js';
import { newTenant, type Tenant } from '../../support/tenant.js';

const SERVER = fileURLToPath(new URL('../../support/stdio-fixtures/reporting-server.mjs', import.meta.url));

let app: Tenant;
let folder: string;
const open: Subscription[] = [];
const programs: Program[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'legacy-subscriptions-'));
  app = await newTenant();
});
afterEach(() => {
  for (const subscription of open.splice(0)) subscription.close();
});
afterAll(async () => {
  await app?.close();
  await Promise.all(programs.map((program) => program.kill('SIGTERM')));
  await rm(folder, { recursive: true, force: true });
});

const ledgerOf = (name: string): string => join(folder, name);
const linesOf = (name: string): string[] =>
  readFileSync(ledgerOf(name), { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean);

async function serve(ledger: string, ...options: string[]): Promise<{ url: string; server: Program }> {
  const server = new Program(process.execPath, [SERVER, ledgerOf(ledger), '--http', ...options]);
  programs.push(server);
  const [, port] = await server.printed(/port (\d+)/);
  return { url: `http://127.0.0.1:${port}/mcp`, server };
}

async function connect(transport: string, ledger: string, more: object = {}): Promise<string> {
  if (transport === 'STDIO') return connectProgram(app, [SERVER, ledgerOf(ledger)]);
  return connectTo(app, (await serve(ledger)).url, more);
}

interface Listening {
  readonly key?: string | undefined;
  readonly id?: string | number;
  readonly capabilities?: object;
}

async function listen(
  path: string,
  notifications: object,
  { key = app.apiKey, id = 1, capabilities = {} }: Listening = {},
): Promise<Subscription> {
  const { headers, body } = modernRequest('subscriptions/listen', { notifications }, { capabilities });
  const subscription = new Subscription(await openProxy(app, path, { key, headers, body: { ...body, id } }));
  open.push(subscription);
  return subscription;
}

function call(path: string, name: string, args: object = {}, more: Listening = {}): Promise<ProxyAnswer> {
  const { key = app.apiKey, capabilities = {} } = more;
  return callProxy(app, path, { key, ...modernRequest('tools/call', { name, arguments: args }, { capabilities }) });
}

const acknowledged = (notifications: object, id: string | number = 1): object => ({
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications, _meta: { [ABOUT]: id } },
});
const updated = (uri: string, id: string | number = 1): object => ({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri, _meta: { [ABOUT]: id } },
});
const changed = (kind: string, id: string | number = 1): object => ({
  jsonrpc: '2.0',
  method: `notifications/${kind}/list_changed`,
  params: { _meta: { [ABOUT]: id } },
});

describe.each(['HTTP', 'STDIO'])('subscriptions of a modern client to a legacy server over %s', (transport) => {
  const ledger = `shared-${transport}`;
  let path: string;

  beforeAll(async () => {
    path = pathOf(app, await connect(transport, ledger));
  });

  it('get what they ask for, under their own ids, until they close', async () => {
    const one = await listen(path, { resourceSubscriptions: ['note://one', 'note://one', 'other://one'] });
    expect(await one.next(0)).toEqual(acknowledged({ resourceSubscriptions: ['note://one'] }));
    const filter = { resourceSubscriptions: ['note://one', 'note://two'], toolsListChanged: true };
    const two = await listen(path, filter, { id: 'two' });
    expect(await two.next(0)).toEqual(acknowledged(filter, 'two'));
    for (const uri of ['note://two', 'note://three', 'note://one']) await call(path, 'touch', { uri });
    await call(path, 'grow');
    await call(path, 'prompt');
    expect(await one.next(1)).toEqual(updated('note://one'));
    expect([await two.next(1), await two.next(2), await two.next(3)]).toEqual([
      updated('note://two', 'two'),
      updated('note://one', 'two'),
      changed('tools', 'two'),
    ]);
    expect(linesOf(ledger).filter((line) => line === 'subscribe note://one')).toHaveLength(1);

    two.close();
    await eventually(() => linesOf(ledger).includes('unsubscribe note://two'));
    expect(linesOf(ledger)).not.toContain('unsubscribe note://one');
    await call(path, 'touch', { uri: 'note://one' });
    expect(await one.next(2)).toEqual(updated('note://one'));
    one.close();
    await eventually(() => linesOf(ledger).includes('unsubscribe note://one'));
    const again = await listen(path, { resourceSubscriptions: ['note://one'], promptsListChanged: true });
    await again.next(0);
    await call(path, 'touch', { uri: 'note://one' });
    await call(path, 'prompt');
    expect([await again.next(1), await again.next(2)]).toEqual([updated('note://one'), changed('prompts')]);
  });

  it('are in the session of the calls of a client that answers requests', async () => {
    const more = { capabilities: { elicitation: {} } };
    const subscription = await listen(path, { resourceSubscriptions: ['note://mine'] }, more);
    await subscription.next(0);
    await call(path, 'touch', { uri: 'note://mine' }, more);
    expect(await subscription.next(1)).toEqual(updated('note://mine'));
  });

  it('are announced, and the SDK of the client takes them', async () => {
    const client = await openModern(app, path.split('/').at(-1) ?? '');
    expect(client.getServerCapabilities()).toMatchObject({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    });
    const heard: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', ({ method }) => void heard.push(method));
    const subscription = await client.listen({ toolsListChanged: true });
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true });
    await client.callTool({ name: 'grow' });
    await eventually(() => heard.length > 0);
    await subscription.close();
    await client.close();
  });
});

it('a subscription at server-everything hears of what a call of its client changes', async () => {
  const everything = await startEverything();
  const path = pathOf(app, await connectTo(app, everything.url));
  const uri = 'demo://resource/dynamic/text/1';
  const subscription = await listen(path, { resourceSubscriptions: [uri] });
  expect(await subscription.next(0)).toEqual(acknowledged({ resourceSubscriptions: [uri] }));
  await call(path, 'toggle-subscriber-updates');
  expect(await subscription.next(1)).toEqual(updated(uri));
  await everything.close();
});
