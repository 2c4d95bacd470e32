import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { modernRequest, openModernAt } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, errorIn, openProxy, pathOf, type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { keyWith } from '../../support/proxy-connections.js';
import { ABOUT, Subscription } from '../../support/subscription.js';
import { WITH_TASKS } from '../../support/task-upstream.js';
import { newTenant, type Tenant } from '../../support/tenant.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../support/stdio-fixtures/${name}.mjs`, import.meta.url));
const [PROGRAM, RAW] = [fixture('era-program'), fixture('raw-modern-server')];
/** Half of what one process has. */
const MAX_OF_ONE_CALLER = 128;

let app: Tenant;
let folder: string;
const open: Subscription[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'program-subscriptions-'));
  app = await newTenant();
});
afterEach(() => {
  for (const subscription of open.splice(0)) subscription.close();
});
afterAll(async () => {
  await app?.close();
  await rm(folder, { recursive: true, force: true });
});

/** A connection to a program whose callers share one process, unless it is said otherwise. */
async function connect(
  program: string,
  { options = [], more = { shared_state: true } }: { options?: readonly string[]; more?: object } = {},
): Promise<string> {
  const stdio = { command: 'node', args: [program, ...options] };
  const data = { title: 'Program', connection_type: 'STDIO', stdio, ...more };
  return (await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data })).item.id;
}

async function listen(
  path: string,
  notifications: object,
  { key = app.apiKey, id = 1 }: { key?: string; id?: string | number } = {},
): Promise<Subscription> {
  const { headers, body } = modernRequest('subscriptions/listen', { notifications });
  const subscription = new Subscription(await openProxy(app, path, { key, headers, body: { ...body, id } }));
  open.push(subscription);
  return subscription;
}

async function call(path: string, name: string, args: object = {}, key = app.apiKey): Promise<ProxyAnswer> {
  const { headers, body } = modernRequest('tools/call', { name, arguments: args });
  return callProxy(app, path, { key, headers, body });
}
const touch = (path: string, uri: string): Promise<ProxyAnswer> => call(path, 'touch', { text: uri });

describe('listeners of different callers to one process', () => {
  it('get what they asked for, under their own ids, until they close', async () => {
    const ledger = join(folder, 'ledger');
    const path = pathOf(app, await connect(PROGRAM, { options: [`--ledger=${ledger}`] }));
    const key = await keyWith(app, { '*': ['*'] });
    const one = await listen(path, { resourceSubscriptions: ['note://one'] });
    const two = await listen(path, { resourceSubscriptions: ['note://two'], toolsListChanged: true }, { key });
    const text = await listen(path, { promptsListChanged: true, toolsListChanged: true }, { key, id: 'text' });
    expect(await one.next(0)).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { resourceSubscriptions: ['note://one'] }, _meta: { [ABOUT]: 1 } },
    });
    expect((await two.next(0))?.params?._meta).toEqual({ [ABOUT]: 1 });
    expect((await text.next(0))?.params?._meta).toEqual({ [ABOUT]: 'text' });
    for (const uri of ['note://two', 'note://one', 'note://three']) await touch(path, uri);
    await call(path, 'grow');
    expect(await one.next(1)).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'note://one', _meta: { [ABOUT]: 1 } },
    });
    expect(await two.next(1)).toMatchObject({ params: { uri: 'note://two', _meta: { [ABOUT]: 1 } } });
    expect(await two.next(2)).toMatchObject({ method: 'notifications/tools/list_changed' });
    expect(await text.next(1)).toMatchObject({
      method: 'notifications/tools/list_changed',
      params: { _meta: { [ABOUT]: 'text' } },
    });

    one.close();
    const sent = (): string[] => readFileSync(ledger, 'utf8').split('\n');
    const [subscribed] = sent().filter((line) => line.startsWith('subscriptions/listen "sbx-'));
    const cancelled = subscribed?.replace('subscriptions/listen', 'notifications/cancelled');
    await eventually(() =>
      expect(sent().filter((line) => line.startsWith('notifications/cancelled'))).toEqual([cancelled]),
    );
    for (const uri of ['note://one', 'note://two']) await touch(path, uri);
    expect(await two.next(3)).toMatchObject({ params: { uri: 'note://two' } });
    expect([one.messages.length, two.messages.length, text.messages.length]).toEqual([2, 4, 2]);
  });

  it('have a limit, of which one caller can have half', async () => {
    const path = pathOf(app, await connect(PROGRAM));
    const filter = { toolsListChanged: true };
    const many = await Promise.all(Array.from({ length: MAX_OF_ONE_CALLER }, (_, id) => listen(path, filter, { id })));
    await Promise.all(many.map((subscription) => subscription.next(0)));
    const { headers, body } = modernRequest('subscriptions/listen', { notifications: filter });
    const refused = await callProxy(app, path, { key: app.apiKey, headers, body });
    expect({ status: refused.status, code: errorIn(refused)?.data.code }).toEqual({
      status: 503,
      code: 'upstream_busy',
    });
    const other = await listen(path, filter, { key: await keyWith(app, { '*': ['*'] }) });
    expect(await other.next(0)).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    many[0]?.close();
    await eventually(async () => {
      const again = await listen(path, filter);
      expect(again.status).toBe(200);
    });
  });

  it('need a permission', async () => {
    const connectionId = await connect(PROGRAM);
    const path = pathOf(app, connectionId);
    const statusOf = async (notifications: object, permissions?: Record<string, string[]>) => {
      const key = permissions && (await keyWith(app, permissions));
      const { headers, body } = modernRequest('subscriptions/listen', { notifications });
      return (await openProxy(app, path, { key, headers, body })).statusCode;
    };
    const resource = { resourceSubscriptions: ['note://one'] };
    expect(await statusOf(resource, { [connectionId]: ['echo'] })).toBe(403);
    expect(await statusOf({ toolsListChanged: true }, { self: ['*'] })).toBe(403);
    expect(await statusOf({ toolsListChanged: true })).toBe(401);
    const permitted = await listen(path, resource, { key: await keyWith(app, { [connectionId]: ['resources'] }) });
    expect(await permitted.next(0)).toMatchObject({ params: { notifications: resource } });
    await touch(path, 'note://one');
    expect(await permitted.next(1)).toMatchObject({ params: { uri: 'note://one', _meta: { [ABOUT]: 1 } } });
  });
});

it('a listener to a process of its own gets what happens there', async () => {
  const path = pathOf(app, await connect(PROGRAM, { more: {} }));
  const mine = await listen(path, { resourceSubscriptions: ['note://one'] });
  await mine.next(0);
  const key = await keyWith(app, { '*': ['*'] });
  await call(path, 'touch', { text: 'note://one' }, key);
  await touch(path, 'note://one');
  await call(path, 'pid');
  expect(await mine.next(1)).toMatchObject({ params: { uri: 'note://one' } });
  await touch(path, 'note://one');
  await mine.next(2);
  expect(mine.messages).toHaveLength(3);
});

it('a subscription outlasts the time limit of the connection', async () => {
  const path = pathOf(app, await connect(PROGRAM, { more: { shared_state: true, timeout: 3_000 } }));
  await eventually(async () => expect(rpcOf(await call(path, 'pid')).result).toBeDefined());
  const subscription = await listen(path, { resourceSubscriptions: ['note://one'] });
  await subscription.next(0);
  expect(rpcOf(await call(path, 'never')).error?.data.code).toBe('upstream_timeout');
  await touch(path, 'note://one');
  expect(await subscription.next(1)).toMatchObject({ params: { uri: 'note://one' } });
});

it('a program can end a subscription', async () => {
  const path = pathOf(app, await connect(PROGRAM));
  const subscription = await listen(path, { resourceSubscriptions: ['note://one'] }, { id: 'mine' });
  await subscription.next(0);
  await call(path, 'close');
  expect(await subscription.next(1)).toMatchObject({
    id: 'mine',
    result: { resultType: 'complete', _meta: { [ABOUT]: 'mine' } },
  });
  await subscription.ended;
});

it('a listener hears that the program has ended, and can listen to the next process', async () => {
  const path = pathOf(app, await connect(PROGRAM));
  const first = await listen(path, { resourceSubscriptions: ['note://one'] }, { id: 'first' });
  await first.next(0);
  await call(path, 'exit');
  expect(await first.next(1)).toMatchObject({ id: 'first', error: { data: { code: 'upstream_unreachable' } } });
  await first.ended;
  const second = await listen(path, { resourceSubscriptions: ['note://one'] });
  await second.next(0);
  await touch(path, 'note://one');
  expect(await second.next(1)).toMatchObject({ params: { uri: 'note://one' } });
});

it('a program that floods a listener who does not read is told to stop, and serves others', async () => {
  const path = pathOf(app, await connect(RAW));
  const { headers, body } = modernRequest('subscriptions/listen', {
    notifications: { resourceSubscriptions: ['note://0'] },
  });
  const response = await openProxy(app, path, { key: app.apiKey, headers, body });
  response.pause();
  await eventually(async () => {
    await call(path, 'flood', { times: 2_000 });
    expect(rpcOf(await call(path, 'open')).result?.content?.[0]?.text).toBe('null');
  });
  response.destroy();
});

it.each([
  ['every permission', ['*']],
  ['the tool alone', ['work']],
])('notifications about tasks of a program reach their maker, with %s', async (_title, tools) => {
  const connectionId = await connect(RAW);
  const path = pathOf(app, connectionId);
  const key = await keyWith(app, { [connectionId]: tools });
  const asked = modernRequest('tools/call', { name: 'work', arguments: {} }, { capabilities: WITH_TASKS });
  const { taskId } = rpcOf(await callProxy(app, path, { key, ...asked })).result as { taskId?: string };
  const subscription = await listen(path, { taskIds: [taskId, 'task-1'] }, { key });
  expect(await subscription.next(0)).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
  expect(await subscription.next(1)).toMatchObject({ method: 'notifications/tasks', params: { taskId } });
});

it('a client of an agent is told that the tools of a modern program have changed', async () => {
  const agent = gatewayPath(app, await agentOf(app, [await connect(PROGRAM)]));
  const client = await openModernAt(app, agent, { capabilities: { elicitation: {} } });
  let changes = 0;
  client.setNotificationHandler('notifications/tools/list_changed', () => void changes++);
  const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);
  expect(await names()).not.toContain('grown-1');
  const subscription = await client.listen({ toolsListChanged: true });
  expect(subscription.honoredFilter).toEqual({ toolsListChanged: true });
  await client.callTool({ name: 'grow' });
  await eventually(() => changes > 0);
  await eventually(async () => expect(await names()).toContain('grown-1'));
  await client.close();
});

it('a restarted program has its tools read again', async () => {
  const agent = gatewayPath(app, await agentOf(app, [await connect(PROGRAM)]));
  const names = async (): Promise<string[]> => (await listThrough(app, agent)).names;
  expect(await names()).not.toContain('grown-1');
  await call(agent, 'grow');
  await eventually(async () => expect(await names()).toContain('grown-1'));
  await call(agent, 'exit');
  await call(agent, 'pid');
  await eventually(async () => expect(await names()).not.toContain('grown-1'));
});
