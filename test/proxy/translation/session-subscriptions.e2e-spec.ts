import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { closeStreams, INITIALIZE, LegacySession, logged, logsIn, updated } from '../../support/legacy-session.js';
import { callProxy, errorIn, pathOf, rpc, rpcOf, TAKES_JSON, toolCall } from '../../support/proxy-calls.js';
import { connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { startTcpProxy, through } from '../../support/tcp-proxy.js';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

/** Of one caller. */
const MAX_RESOURCES = 1_024;

const app = useStarted(newTenant);
const { argsOf, linesOf, serve } = useFixtureServers('modern-reporting-server');
afterEach(closeStreams);

const connect = async (kind: string, ledger: string): Promise<string> =>
  kind === 'server' ? connectTo(app, (await serve(ledger)).url) : connectProgram(app, argsOf(ledger));

describe.each(['server', 'program'])('a client up to 2025-11-25 at a modern %s', (kind) => {
  const ledger = `shared-${kind}`;
  let path: string;

  beforeAll(async () => {
    path = pathOf(app, await connect(kind, ledger));
  });

  it('gets log messages of its calls from the level of its session on', async () => {
    const session = await LegacySession.open(app, path);
    expect(session.capabilities).toMatchObject({ logging: {}, resources: { subscribe: true } });
    expect((await session.call('log', { level: 'error' })).text).not.toContain('log of');
    expect(await session.change('logging/setLevel', { level: 'loud' })).toBe('invalid_arguments');
    expect(linesOf(ledger)).not.toContain('level debug');
    expect(await session.change('logging/setLevel', { level: 'debug' })).toBeUndefined();
    expect(logsIn(await session.call('log', { level: 'debug' }))).toEqual([logged('debug')]);
    expect(await session.change('logging/setLevel', { level: 'warning' })).toBeUndefined();
    expect(logsIn(await session.call('log', { level: 'error' }))).toEqual([logged('error')]);
    // Whatever the server makes of the level.
    expect(logsIn(await session.call('log', { level: 'info' }))).toEqual([]);
    expect(linesOf(ledger).filter((line) => line.startsWith('level'))).toEqual([
      'level debug',
      'level warning',
      'level warning',
    ]);
    const other = await LegacySession.open(app, path);
    expect((await other.call('log', { level: 'error' })).text).not.toContain('log of');
  });

  it('gets them on its stream where the answer is JSON', async () => {
    const session = await LegacySession.open(app, path);
    const stream = await session.listen();
    await session.change('logging/setLevel', { level: 'info' });
    await session.send(toolCall('log', { level: 'debug' }), TAKES_JSON);
    expect(rpcOf(await session.send(toolCall('log', { level: 'error' }), TAKES_JSON)).result?.content).toHaveLength(1);
    expect(await stream.next(0)).toEqual(logged('error'));
  });

  it('hears of the resources that it has subscribed to, until it ends that', async () => {
    const id = await connect(kind, `own-${kind}`);
    const lines = (): string[] => linesOf(`own-${kind}`);
    const session = await LegacySession.open(app, pathOf(app, id));
    const stream = await session.listen();
    expect(await session.subscribe('note://one')).toBeUndefined();
    expect(await session.subscribe('note://two')).toBeUndefined();
    expect(await session.subscribe('other://one')).toBe('invalid_arguments');
    for (const uri of ['other://one', 'note://two', 'note://one']) await session.call('touch', { uri });
    expect([await stream.next(0), await stream.next(1)]).toEqual([updated('note://two'), updated('note://one')]);
    // There is one subscription at a time.
    await eventually(() => expect(lines()).toContain('close note://one'));
    expect(lines()).toContain('listen note://one note://two');
    await session.change('resources/unsubscribe', { uri: 'note://two' });
    for (const uri of ['note://two', 'note://one']) await session.call('touch', { uri });
    expect(await stream.next(2)).toEqual(updated('note://one'));
    await session.change('resources/unsubscribe', { uri: 'note://one' });
    await eventually(() => {
      const begun = lines().filter((line) => line.startsWith('listen'));
      const ended = lines().filter((line) => line.startsWith('close'));
      expect(ended.map((line) => line.slice('close'.length)).toSorted()).toEqual(
        begun.map((line) => line.slice('listen'.length)).toSorted(),
      );
    });
  });

  it('is told that everything counts as changed when it begins to listen', async () => {
    const session = await LegacySession.open(app, path);
    await session.subscribe('note://kept');
    const stream = await session.listen();
    expect(await stream.next(0)).toEqual(updated('note://kept'));
    await session.call('touch', { uri: 'note://kept' });
    expect(await stream.next(1)).toEqual(updated('note://kept'));
  });

  it('hears nothing of what others have subscribed to', async () => {
    const [mine, theirs] = [
      await LegacySession.open(app, path),
      await LegacySession.open(app, path, { key: await keyWith(app, { '*': ['*'] }) }),
    ];
    const streams = [await mine.listen(), await theirs.listen(), await (await LegacySession.open(app, path)).listen()];
    await mine.subscribe('note://mine');
    await theirs.subscribe('note://theirs');
    // Programs are the sessions' own.
    for (const session of [mine, theirs]) {
      for (const uri of ['note://mine', 'note://theirs']) await session.call('touch', { uri });
    }
    expect([await streams[0]?.next(0), await streams[1]?.next(0)]).toEqual([
      updated('note://mine'),
      updated('note://theirs'),
    ]);
    await mine.change('logging/setLevel', { level: 'debug' });
    await mine.send(toolCall('log', { level: 'info' }), TAKES_JSON);
    expect(await eventually(async () => streams[0]?.messages.at(-1))).toBeDefined();
    await eventually(() => expect(streams[0]?.messages.at(-1)).toEqual(logged('info')));
    const heard = streams.slice(1).map((stream) => JSON.stringify(stream.messages));
    expect(heard.join()).not.toMatch(/mine|log of/);
    expect(streams[2]?.messages).toEqual([]);
  });

  it('needs the permission for resources', async () => {
    const tools = await LegacySession.open(app, path, { key: await keyWith(app, { '*': ['touch', 'log'] }) });
    expect(await tools.subscribe('note://one')).toBe('permission_denied');
    expect(tools.capabilities).not.toHaveProperty('resources.subscribe');
    expect(await tools.change('logging/setLevel', { level: 'info' })).toBeUndefined();
    expect(logsIn(await tools.call('log', { level: 'info' }))).toEqual([logged('info')]);
  });

  it('does not subscribe any more when its session, its key or the connection has ended', async () => {
    const id = await connect(kind, `ends-${kind}`);
    const ended = (uri: string) => eventually(() => linesOf(`ends-${kind}`).includes(`close ${uri}`));
    const one = await LegacySession.open(app, pathOf(app, id));
    const [stream] = [await one.listen()];
    await one.subscribe('note://session');
    await one.end();
    await stream.ended;
    // A program ends with its session.
    if (kind === 'server') await ended('note://session');
    const made = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', {
      name: 'short',
      permissions: { '*': ['*'] },
    });
    const two = await LegacySession.open(app, pathOf(app, id), { key: made.key });
    const second = await two.listen();
    await two.subscribe('note://key');
    await succeed(app, 'API_KEY_DELETE', { id: made.id });
    await second.ended;
    if (kind === 'server') await ended('note://key');
    const three = await LegacySession.open(app, pathOf(app, id));
    const third = await three.listen();
    await three.subscribe('note://connection');
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { status: 'inactive' } });
    await third.ended;
    if (kind === 'server') await ended('note://connection');
  });
});

it('concurrent calls of two callers in one session with a server get their own log messages', async () => {
  const path = pathOf(app, await connect('server', 'meeting'));
  const callers = [
    await LegacySession.open(app, path),
    await LegacySession.open(app, path, { key: await keyWith(app, { '*': ['*'] }) }),
  ];
  for (const session of callers) await session.change('logging/setLevel', { level: 'info' });
  const answers = await Promise.all(callers.map((session, index) => session.call('meet', { name: `caller ${index}` })));
  expect(answers.map(logsIn)).toEqual([[logged('error', 'met caller 0')], [logged('error', 'met caller 1')]]);
});

it('a subscription goes on when its server is restarted, and everything counts as changed', async () => {
  const { url, server } = await serve('restarted');
  const proxy = await startTcpProxy(url);
  const session = await LegacySession.open(app, pathOf(app, await connectTo(app, through(proxy, url))));
  const stream = await session.listen();
  await session.subscribe('note://one');
  await server.kill('SIGKILL');
  proxy.retarget((await serve('restarted')).url);
  expect(await stream.next(0)).toEqual(updated('note://one'));
  await session.call('touch', { uri: 'note://one' });
  expect(await stream.next(1)).toEqual(updated('note://one'));
  await proxy.close();
});

it('a subscription to a program that has ended is in its next process', async () => {
  const path = pathOf(app, await connect('program', 'exits'));
  const session = await LegacySession.open(app, path);
  const stream = await session.listen();
  await session.subscribe('note://one');
  await session.call('exit');
  await stream.ended;
  const next = await session.listen();
  expect(await next.next(0)).toEqual(updated('note://one'));
  await session.call('touch', { uri: 'note://one' });
  expect(await next.next(1)).toEqual(updated('note://one'));
});

describe('a subscription in a session', () => {
  it.each([
    ['no address', undefined],
    ['an address that is no text', 1],
    ['an address that is too long', `note://${'x'.repeat(2_048)}`],
  ])('is refused with %s', async (_what, uri) => {
    const session = await LegacySession.open(app, pathOf(app, await connect('server', 'refusing')));
    expect(await session.change('resources/subscribe', { uri })).toBe('invalid_arguments');
  });

  it('is not there for callers without a credential', async () => {
    const path = pathOf(app, await connectTo(app, (await serve('open')).url));
    const answer = await callProxy(app, path, { body: rpc('initialize', INITIALIZE) });
    expect(rpcOf(answer).result?.['capabilities']).toEqual({ tools: {}, resources: {} });
    const headers = { 'mcp-session-id': String(answer.headers['mcp-session-id']) };
    const codeOf = async (method: string, params: object) =>
      errorIn(await callProxy(app, path, { headers, body: rpc(method, params) }))?.data.code;
    expect(await codeOf('resources/subscribe', { uri: 'note://one' })).toBe('credential_missing');
    expect(await codeOf('logging/setLevel', { level: 'debug' })).toBe('unknown_method');
  });

  it('counts the resources of a caller until it ends', async () => {
    const { url } = await serve('many');
    const connectionId = await connectTo(app, url);
    const key = await keyWith(app, { [connectionId]: ['*'] });
    const session = await LegacySession.open(app, pathOf(app, connectionId), { key });
    for (let count = 0; count < MAX_RESOURCES; count += 32) {
      const uris = Array.from({ length: 32 }, (_, index) => `note://${count + index}`);
      const codes = await Promise.all(uris.map((uri) => session.subscribe(uri)));
      expect(codes.filter((code) => code !== undefined)).toEqual([]);
    }
    expect(await session.subscribe('note://more')).toBe('upstream_busy');
    expect(await (await LegacySession.open(app, pathOf(app, connectionId))).subscribe('note://more')).toBeUndefined();
    await session.change('resources/unsubscribe', { uri: 'note://0' });
    expect(await session.subscribe('note://more')).toBeUndefined();
    await session.end();
    expect(
      await (await LegacySession.open(app, pathOf(app, connectionId), { key })).subscribe('note://0'),
    ).toBeUndefined();
  }, 300_000);
});
