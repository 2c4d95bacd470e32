import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { succeed } from '../../support/agent-runs.js';
import { modernRequest, openModern } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { startEverything } from '../../support/everything-server.js';
import { callProxy, errorIn, eventsOf, openProxy, pathOf, type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { ABOUT, Subscription } from '../../support/subscription.js';
import { startTcpProxy, through } from '../../support/tcp-proxy.js';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

const MAX_OF_ONE_CALLER = 128;
const SUBSCRIBED_AT_ONCE = 8;
const MAX_RESOURCES_OF_CALLER = 1_024;
/** More than the requests of one caller that can be sent, or wait for a socket, at a time. */
const MANY_RESOURCES = 300;

const app = useStarted(newTenant);
const { argsOf, linesOf, serve } = useFixtureServers('reporting-server');
const open: Subscription[] = [];
afterEach(() => {
  for (const subscription of open.splice(0)) subscription.close();
});

async function connect(transport: string, ledger: string, more: object = {}): Promise<string> {
  if (transport === 'STDIO') return connectProgram(app, argsOf(ledger));
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

/**
 * Waits until the stream of changes in the caller's session is open. One that opens more than a second after a
 * subscription has begun reports to all of them once more that everything may have changed.
 */
async function untilReporting(path: string, { key = app.apiKey, capabilities = {} }: Listening = {}): Promise<void> {
  const subscription = await listen(path, { resourceSubscriptions: ['note://ready'] }, { key, capabilities });
  await subscription.next(0);
  // A program of the caller's own hears only of its own calls; a key without tools cannot call.
  await call(path, 'touch', { uri: 'note://ready' }, { capabilities });
  await subscription.next(1);
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
    await untilReporting(path);
  });

  it('get what they ask for, under their own ids, until they close', async () => {
    const one = await listen(path, { resourceSubscriptions: ['note://one', 'note://one', 'other://one'] });
    expect(await one.next(0)).toEqual(acknowledged({ resourceSubscriptions: ['note://one'] }));
    const filter = { resourceSubscriptions: ['note://one', 'note://two'], toolsListChanged: true };
    const two = await listen(path, filter, { id: 'two' });
    expect(await two.next(0)).toEqual(acknowledged(filter, 'two'));
    for (const uri of ['note://two', 'note://three', 'other://one', 'note://one']) await call(path, 'touch', { uri });
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
    await call(path, 'own', { uri: 'note://mine' }, more);
    expect(await subscription.next(1)).toEqual(updated('note://mine'));
  });

  it.each([[{}], [{ elicitation: {} }]])('hear of changes that an answer reports, with %j', async (capabilities) => {
    const filter = { resourceSubscriptions: ['note://within'], promptsListChanged: true };
    await untilReporting(path, { capabilities });
    const subscription = await listen(path, filter, { capabilities });
    await subscription.next(0);
    const { text } = await call(path, 'within', { uri: 'note://within' }, { capabilities });
    expect(text).not.toContain('notifications/');
    expect([await subscription.next(1), await subscription.next(2)]).toEqual([
      updated('note://within'),
      changed('prompts'),
    ]);
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

describe('log messages of a legacy server', () => {
  const ask = (
    path: string,
    level: string,
    logLevel?: string,
    from: { key?: string } = { key: app.apiKey },
  ): Promise<ProxyAnswer> => {
    const { headers, body } = modernRequest('tools/call', { name: 'log', arguments: { level } });
    const { params } = body as { params: { _meta: object } };
    const meta = { ...params._meta, ...(logLevel !== undefined && { 'io.modelcontextprotocol/logLevel': logLevel }) };
    return callProxy(app, path, { ...from, headers, body: { ...body, params: { ...params, _meta: meta } } });
  };

  it.each(['HTTP', 'STDIO'])(
    'over %s are in the answers to calls that ask for them, from their level on',
    async (transport) => {
      const ledger = `log-${transport}`;
      const path = pathOf(app, await connect(transport, ledger));
      const logged = {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'info', data: 'log of info' },
      };
      const levelsIn = async (level: string, logLevel?: string) => {
        const { text } = await ask(path, level, logLevel);
        return text.startsWith('{') ? [] : eventsOf({ text }).filter((message) => 'method' in message);
      };
      expect(await levelsIn('error')).toEqual([]);
      expect(await levelsIn('error', 'loud')).toEqual([]);
      expect(linesOf(ledger)).toEqual([]);
      expect(await levelsIn('info', 'info')).toEqual([logged]);
      expect(await levelsIn('info', 'error')).toEqual([]);
      expect(await levelsIn('info', 'debug')).toEqual([logged]);
      expect(await levelsIn('info')).toEqual([]);
      expect(linesOf(ledger)).toEqual(['level info', 'level debug']);
    },
  );

  it.each(['HTTP', 'STDIO'])('over %s are not for a caller without a credential', async (transport) => {
    const ledger = `open-${transport}`;
    const path = pathOf(app, await connect(transport, ledger));
    const answer = await ask(path, 'info', 'debug', {});
    expect([answer.status, errorIn(answer)]).toEqual([200, undefined]);
    expect(answer.text).not.toContain('log of info');
    expect(linesOf(ledger)).toEqual([]);
    const offeredTo = async (key?: string) =>
      rpcOf(await callProxy(app, path, { key, ...modernRequest('server/discover') })).result?.['capabilities'];
    expect(await offeredTo()).not.toHaveProperty('logging');
    expect(await offeredTo(app.apiKey)).toHaveProperty('logging');
  });
});

describe('a subscription at a legacy server', () => {
  let path: string;
  let connectionId: string;

  beforeAll(async () => {
    connectionId = await connect('HTTP', 'limits');
    path = pathOf(app, connectionId);
  });

  it.each([
    ['no filter', undefined],
    ['a filter that is no object', ['tools']],
    ['a flag that is no boolean', { toolsListChanged: 'yes' }],
    ['resources that are no array', { resourceSubscriptions: 'note://one' }],
    ['a resource that is no text', { resourceSubscriptions: [1] }],
    ['an address that is too long', { resourceSubscriptions: ['x'.repeat(2_049)] }],
  ])('is refused with %s', async (_what, notifications) => {
    const request = modernRequest('subscriptions/listen', notifications === undefined ? {} : { notifications });
    const answer = await callProxy(app, path, { key: app.apiKey, ...request });
    expect(rpcOf(answer).error).toMatchObject({ code: -32602, data: { code: 'invalid_arguments' } });
  });

  it('to nothing ends at once', async () => {
    const subscription = await listen(path, { toolsListChanged: false, unknown: true }, { id: 'none' });
    await subscription.ended;
    expect(subscription.messages).toEqual([
      acknowledged({}, 'none'),
      expect.objectContaining({ id: 'none', result: expect.objectContaining({ resultType: 'complete' }) }),
    ]);
  });

  it('to a server without a stream of messages ends at once', async () => {
    const { url } = await serve('deaf', { options: ['--deaf'] });
    const subscription = await listen(pathOf(app, await connectTo(app, url)), { promptsListChanged: true });
    await subscription.ended;
    expect(subscription.messages[0]).toEqual(acknowledged({}));
    expect(subscription.messages[1]).toMatchObject({ id: 1, result: { resultType: 'complete' } });
  });

  it('is to what its caller is permitted to use', async () => {
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const tools = await listen(path, all, { key: await keyWith(app, { [connectionId]: ['echo'] }) });
    expect(await tools.next(0)).toEqual(acknowledged({ toolsListChanged: true }));
    const key = await keyWith(app, { [connectionId]: ['resources'] });
    await untilReporting(path, { key });
    const resources = await listen(path, { ...all, resourceSubscriptions: ['note://one'] }, { key });
    const honored = { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ['note://one'] };
    expect(await resources.next(0)).toEqual(acknowledged(honored));
    await call(path, 'touch', { uri: 'note://one' });
    expect(await resources.next(1)).toEqual(updated('note://one'));
    const statusOf = async (permissions?: Record<string, string[]>) => {
      const refused = permissions === undefined ? undefined : await keyWith(app, permissions);
      const request = modernRequest('subscriptions/listen', {
        notifications: { resourceSubscriptions: ['note://one'] },
      });
      return (await openProxy(app, path, { key: refused, ...request })).statusCode;
    };
    expect(await statusOf({ [connectionId]: ['echo'] })).toBe(403);
    expect(await statusOf({ self: ['*'] })).toBe(403);
    expect(await statusOf()).toBe(401);
  });

  it('subscribes to no further resource once its client has left', async () => {
    const left = pathOf(app, await connect('HTTP', 'left'));
    const uris = Array.from({ length: SUBSCRIBED_AT_ONCE + 1 }, (_, index) => `note://held-${index}`);
    const { headers, body } = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions: uris } });
    const client = new AbortController();
    const answer = fetch(new URL(left, app.url), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', authorization: `Bearer ${app.apiKey}` },
      body: JSON.stringify(body),
      signal: client.signal,
    });
    await eventually(() => linesOf('left').length === SUBSCRIBED_AT_ONCE);
    client.abort();
    await expect(answer).rejects.toThrow();
    await call(left, 'echo');
    await call(left, 'release');
    await eventually(
      () => linesOf('left').filter((line) => line.startsWith('unsubscribe')).length >= SUBSCRIBED_AT_ONCE,
    );
    expect(linesOf('left')).not.toContain(`subscribe ${uris.at(-1)}`);
  });

  it('ends its many subscriptions to resources, and calls are answered meanwhile', async () => {
    const many = pathOf(app, await connect('HTTP', 'many'));
    const uris = Array.from({ length: MANY_RESOURCES }, (_, index) => `note://${index}`);
    const subscription = await listen(many, { resourceSubscriptions: uris });
    await subscription.next(0);
    subscription.close();
    await eventually(() => linesOf('many').length > MANY_RESOURCES);
    expect(errorIn(await call(many, 'echo'))).toBeUndefined();
    await eventually(() => linesOf('many').length === 2 * MANY_RESOURCES);
  });

  it('counts towards the limit of its caller until it ends', async () => {
    const key = await keyWith(app, { '*': ['*'] });
    const filter = { toolsListChanged: true };
    const many = await Promise.all(
      Array.from({ length: MAX_OF_ONE_CALLER }, (_, id) => listen(path, filter, { key, id })),
    );
    await Promise.all(many.map((subscription) => subscription.next(0)));
    const refused = await callProxy(app, path, {
      key,
      ...modernRequest('subscriptions/listen', { notifications: filter }),
    });
    expect({ status: refused.status, code: errorIn(refused)?.data.code }).toEqual({
      status: 503,
      code: 'upstream_busy',
    });
    expect((await listen(path, filter)).status).toBe(200);
    many[0]?.close();
    await eventually(async () => expect((await listen(path, filter, { key })).status).toBe(200));
    const uris = Array.from({ length: MAX_RESOURCES_OF_CALLER + 1 }, (_, index) => `note://${index}`);
    expect((await listen(path, { resourceSubscriptions: uris })).status).toBe(503);
  });

  it('ends with the key of its caller', async () => {
    const { key, id } = await succeed<{ key: string; id: string }>(app, 'API_KEY_CREATE', {
      name: 'listener',
      permissions: { '*': ['*'] },
    });
    await untilReporting(path, { key });
    const subscription = await listen(path, { resourceSubscriptions: ['note://key'] }, { key });
    await subscription.next(0);
    await succeed(app, 'API_KEY_DELETE', { id });
    await subscription.ended;
    expect(subscription.messages).toHaveLength(1);
  });

  it.each(['HTTP', 'STDIO'])('ends with its connection over %s', async (transport) => {
    const id = await connect(transport, `deleted-${transport}`);
    const subscription = await listen(pathOf(app, id), { toolsListChanged: true });
    await subscription.next(0);
    await succeed(app, 'COLLECTION_CONNECTIONS_DELETE', { id });
    await subscription.ended;
    expect(subscription.messages.at(-1)).toMatchObject({ id: 1, error: {} });
  });

  it('ends with the program', async () => {
    const program = pathOf(app, await connect('STDIO', 'exits'));
    const subscription = await listen(program, { toolsListChanged: true });
    await subscription.next(0);
    await call(program, 'exit');
    await subscription.ended;
    expect(subscription.messages.at(-1)).toMatchObject({ id: 1, error: {} });
    expect(await (await listen(program, { toolsListChanged: true })).next(0)).toEqual(
      acknowledged({ toolsListChanged: true }),
    );
  });

  it('continues in another session when its server forgets the session, or is restarted', async () => {
    const { url, server } = await serve('restarted');
    const proxy = await startTcpProxy(url);
    const restarted = pathOf(app, await connectTo(app, through(proxy, url)));
    await untilReporting(restarted);
    const filter = { resourceSubscriptions: ['note://one'], promptsListChanged: true };
    const subscription = await listen(restarted, filter);
    await subscription.next(0);
    /** Both may have changed in the meantime. */
    const missesBothAfter = async (lose: () => Promise<unknown>): Promise<void> => {
      const before = subscription.messages.length;
      await lose();
      expect([await subscription.next(before), await subscription.next(before + 1)]).toEqual([
        changed('prompts'),
        updated('note://one'),
      ]);
      await untilReporting(restarted);
    };
    await missesBothAfter(() => call(restarted, 'forget'));
    expect(linesOf('restarted')).not.toContain('unknown');
    await missesBothAfter(async () => {
      await server.kill('SIGKILL');
      proxy.retarget((await serve('restarted')).url);
    });
    const before = subscription.messages.length;
    await call(restarted, 'touch', { uri: 'note://one' });
    expect(await subscription.next(before)).toEqual(updated('note://one'));
    await proxy.close();
  });
});
