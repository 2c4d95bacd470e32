import { createHash } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { modernRequest } from '../../support/era-clients.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { closeStreams, LegacySession, logged, logsIn, updated } from '../../support/legacy-session.js';
import { callProxy, openProxy, type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { ABOUT, Subscription } from '../../support/subscription.js';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

const LEVEL = 'io.modelcontextprotocol/logLevel';
const SERVERS = ['old', 'new'].flatMap((era) => ['HTTP', 'STDIO'].map((transport) => [era, transport] as const));
const CLIENTS = ['old', 'old that answers', 'new'] as const;

const app = useStarted(() => newTenant({ STDIO_MAX_PROCESSES: '400' }));
const { argsOf, serve } = useFixtureServers('reporting-server');
let count = 0;
const open: Subscription[] = [];
afterEach(() => {
  closeStreams();
  for (const subscription of open.splice(0)) subscription.close();
});
async function connect(era: string, transport: string): Promise<string> {
  const script = era === 'old' ? 'reporting-server' : 'modern-reporting-server';
  const ledger = String(count++);
  if (transport === 'STDIO') return connectProgram(app, argsOf(ledger, { script }));
  return connectTo(app, (await serve(ledger, { script })).url);
}

/** The address of a resource that another connection of the agent has too. */
const addressAt = (connectionId: string, uri = 'note://one'): string =>
  `${uri}?connection=${createHash('sha256').update(connectionId).digest('hex').slice(0, 16)}`;

/** An agent over two connections that have the same resource. */
async function agentOver(era: string, transport: string): Promise<{ path: string; a: string; b: string }> {
  const [a, b] = [await connect(era, transport), await connect(era, transport)];
  const members = [
    { connection_id: a, prefix: 'a' },
    { connection_id: b, prefix: 'b' },
  ];
  return { path: gatewayPath(app, await agentOf(app, members)), a, b };
}

/** A client of the agent: what it can do in either era. */
interface AnyClient {
  readonly capabilities: unknown;
  call(name: string, args: object, logLevel?: string): Promise<ProxyAnswer>;
  /** Listens to these resources. */
  listen(...uris: string[]): Promise<Subscription>;
  /** What it is told of a resource that has changed. */
  updated(uri: string): object;
  /** How many messages precede the first update. */
  readonly before: number;
}

async function openClient(kind: (typeof CLIENTS)[number], path: string, key = app.apiKey): Promise<AnyClient> {
  if (kind !== 'new') {
    const capabilities = kind === 'old' ? {} : { roots: {} };
    const session = await LegacySession.open(app, path, { key, capabilities });
    return {
      capabilities: session.capabilities,
      call: async (name, args, level) => {
        if (level !== undefined) await session.change('logging/setLevel', { level });
        return session.call(name, args);
      },
      listen: async (...uris) => {
        const stream = await session.listen();
        for (const uri of uris) expect(await session.subscribe(uri)).toBeUndefined();
        return stream;
      },
      updated,
      before: 0,
    };
  }
  const described = await callProxy(app, path, { key, ...modernRequest('server/discover') });
  return {
    capabilities: rpcOf(described).result?.['capabilities'],
    call: (name, args, level) => {
      const { headers, body } = modernRequest('tools/call', { name, arguments: args });
      const { params } = body as { params: { _meta: object } };
      const _meta = { ...params._meta, ...(level !== undefined && { [LEVEL]: level }) };
      return callProxy(app, path, { key, headers, body: { ...body, params: { ...params, _meta } } });
    },
    listen: async (...uris) => {
      const request = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions: uris } });
      const subscription = new Subscription(await openProxy(app, path, { key, ...request }));
      open.push(subscription);
      expect((await subscription.next(0))?.params?.notifications).toEqual({ resourceSubscriptions: uris });
      return subscription;
    },
    updated: (uri) => ({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri, _meta: { [ABOUT]: 1 } },
    }),
    before: 1,
  };
}

describe.each(SERVERS)('clients of an agent over servers of the %s era over %s', (era, transport) => {
  let agent: Awaited<ReturnType<typeof agentOver>>;

  beforeAll(async () => {
    agent = await agentOver(era, transport);
  });

  it.each(CLIENTS)('%s: hears of its resources by their addresses in the agent, and others do not', async (kind) => {
    const { path, a, b } = agent;
    const client = await openClient(kind, path);
    expect(client.capabilities).toMatchObject({ resources: { subscribe: true }, logging: {} });
    const other = await openClient(kind, path, await keyWith(app, { '*': ['*'] }));
    const mine = await client.listen(addressAt(a));
    const theirs = await other.listen(addressAt(b));
    // Programs, and sessions with servers, are of one client.
    for (const one of [client, other]) {
      for (const name of ['b_touch', 'a_touch']) await one.call(name, { uri: 'note://one' });
    }
    expect(await mine.next(client.before)).toEqual(client.updated(addressAt(a)));
    expect(await theirs.next(client.before)).toEqual(client.updated(addressAt(b)));
    expect(JSON.stringify(mine.messages)).not.toContain(addressAt(b));
    expect(JSON.stringify(theirs.messages)).not.toContain(addressAt(a));
  });

  it.each(CLIENTS)('%s: gets the log messages of its calls from its level on', async (kind) => {
    const client = await openClient(kind, agent.path);
    expect(logsIn(await client.call('a_log', { level: 'error' }, 'info'))).toEqual([logged('error')]);
    expect(logsIn(await client.call('a_log', { level: 'info' }, 'info'))).toEqual([logged('info')]);
    const other = await openClient(kind, agent.path, await keyWith(app, { '*': ['*'] }));
    const { text } = await other.call('a_log', { level: 'debug' }, 'error');
    // What a client sends to a server as it is, or in a session of its own, is answered by the server alone.
    const isDirect =
      kind === 'new' ? era === 'new' : kind === 'old that answers' && era === 'old' && transport === 'HTTP';
    expect(text.includes('log of')).toBe(isDirect);
  });
});

describe('a subscription through an agent', () => {
  it.each(CLIENTS)('of a client of the kind "%s" needs the permission for resources', async (kind) => {
    const { path, a } = await agentOver('new', 'HTTP');
    const key = await keyWith(app, { [a]: ['touch', 'log'] });
    if (kind === 'new') {
      const notifications = { resourceSubscriptions: [addressAt(a), 'note://unknown'] };
      const request = modernRequest('subscriptions/listen', { notifications });
      const subscription = new Subscription(await openProxy(app, path, { key, ...request }));
      open.push(subscription);
      expect(JSON.stringify((await subscription.next(0))?.params?.notifications)).not.toContain('note://');
      return;
    }
    const capabilities = kind === 'old' ? {} : { roots: {} };
    const session = await LegacySession.open(app, path, { key, capabilities });
    expect(await session.subscribe(addressAt(a))).toBe('invalid_arguments');
    expect(session.capabilities).not.toHaveProperty('resources');
  });

  it('ends when its client ends it', async () => {
    const { path, a, b } = await agentOver('old', 'STDIO');
    const session = await LegacySession.open(app, path);
    const stream = await session.listen();
    for (const address of [addressAt(a), addressAt(b)]) expect(await session.subscribe(address)).toBeUndefined();
    expect(await session.change('resources/unsubscribe', { uri: addressAt(a) })).toBeUndefined();
    for (const name of ['a_touch', 'b_touch']) await session.call(name, { uri: 'note://one' });
    expect(await stream.next(0)).toEqual(updated(addressAt(b)));
  });

  it.each(['old', 'new'] as const)('of an %s client goes on in the next process of a program', async (kind) => {
    const { path, a } = await agentOver('new', 'STDIO');
    const client = await openClient(kind, path);
    const stream = await client.listen(addressAt(a));
    await client.call('a_exit', {});
    // It counts as changed.
    expect(await stream.next(client.before)).toEqual(client.updated(addressAt(a)));
    await client.call('a_touch', { uri: 'note://one' });
    expect(await stream.next(client.before + 1)).toEqual(client.updated(addressAt(a)));
  });
});
