import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant } from '../support/tenant.js';
import { callProxy, openProxy, type ProxyAnswer, type RpcAnswer, rpcOf, TAKES_JSON } from '../support/proxy-calls.js';
import { connectProgram, keyWith } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { useStarted } from '../support/use-started.js';

const SERVER = fileURLToPath(new URL('../support/stdio-fixtures/hostile-server.mjs', import.meta.url));
/** One key can have a quarter of this, one connection half of it. */
const MAX_PROCESSES = 8;
const ALL = { '*': ['*'] };
const REFUSED = { status: 503, headers: { 'retry-after': '1' } };

const app = useStarted(() => newTenant({ STDIO_MAX_PROCESSES: String(MAX_PROCESSES) }));
let connectionId: string;

beforeAll(async () => {
  connectionId = await connectProgram(app, [SERVER]);
});

interface Caller {
  key?: string | undefined;
  session?: string;
  connection?: string;
}

function headersOf({ session }: Caller): Record<string, string> {
  return { ...TAKES_JSON, ...(session !== undefined && { 'mcp-session-id': session }) };
}

function post(caller: Caller, method: string, params: object): Promise<ProxyAnswer> {
  const body = { jsonrpc: '2.0', id: 1, method, params };
  const path = `/api/${app.org}/mcp/${caller.connection ?? connectionId}`;
  return callProxy(app, path, { key: caller.key, headers: headersOf(caller), body });
}

function initialize(caller: Caller): Promise<ProxyAnswer> {
  const clientInfo = { name: 'test', version: '1' };
  return post(caller, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
}

async function openSession(caller: Caller): Promise<Caller> {
  const answer = await initialize(caller);
  expect(answer).toMatchObject({ status: 200, headers: { 'mcp-session-id': expect.any(String) } });
  return { ...caller, session: String(answer.headers['mcp-session-id']) };
}

async function call(caller: Caller, name: string, args: object = {}): Promise<RpcAnswer> {
  return rpcOf(await post(caller, 'tools/call', { name, arguments: args }));
}

async function textOf(caller: Caller, tool: string): Promise<string> {
  const { result, error } = await call(caller, tool);
  expect(error).toBeUndefined();
  return result?.content?.[0]?.text ?? '';
}

const pidOf = (caller: Caller): Promise<string> => textOf(caller, 'pid');

/** A call that is not answered; `end` hangs up. */
async function occupy(caller: Caller): Promise<{ end(): void }> {
  const path = `/api/${app.org}/mcp/${connectionId}`;
  const body = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'never', arguments: {} } };
  const abort = new AbortController();
  const sent = fetch(new URL(path, app.url), {
    method: 'POST',
    signal: abort.signal,
    headers: { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json', ...headersOf(caller) },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  await eventually(async () => expect(await textOf(caller, 'waiting')).not.toBe('0'));
  return {
    end() {
      abort.abort();
      void sent;
    },
  };
}

describe('callers without a credential', () => {
  it('share one process of a program in all their sessions, which no key uses', async () => {
    const sessions = await Promise.all(Array.from({ length: 40 }, () => openSession({})));
    const pids = await Promise.all([...sessions.map(pidOf), pidOf({})]);
    expect(new Set(pids).size).toBe(1);
    expect(pids).not.toContain(await pidOf({ key: app.apiKey }));
    expect(new Set(sessions.map(({ session }) => session)).size).toBe(40);
  });

  it('get the same protocol for such a session as for any other', async () => {
    const session = await openSession({});
    const path = `/api/${app.org}/mcp/${connectionId}`;
    const headers = { ...headersOf(session), accept: 'text/event-stream' };
    const stream = await openProxy(app, path, { method: 'GET', headers });
    expect(stream.statusCode).toBe(401);
    stream.resume();
    expect(rpcOf(await post(session, 'tools/list', {})).result?.tools).not.toEqual([]);
    expect(rpcOf(await post(session, 'logging/setLevel', { level: 'info' })).error).toBeDefined();
    expect((await callProxy(app, path, { method: 'DELETE', headers: headersOf(session) })).status).toBe(200);
    const malformed = await post({}, 'initialize', { protocolVersion: 1 });
    expect(malformed.status).toBe(400);
  });
});

describe('the programs of sessions', () => {
  it('are limited for each key; programs in use keep running, and those of other keys start', async () => {
    const [mine, others] = await Promise.all([keyWith(app, ALL), keyWith(app, ALL)]);
    const sessions = await Promise.all([openSession({ key: mine }), openSession({ key: mine })]);
    const calls = await Promise.all(sessions.map(occupy));
    const refused = await initialize({ key: mine });
    expect(refused).toMatchObject(REFUSED);
    expect(rpcOf(refused).error?.data.code).toBe('upstream_busy');
    const other = await openSession({ key: others });
    expect(await pidOf(other)).not.toBe(await pidOf({}));
    for (const running of calls) running.end();
    await eventually(async () => expect((await initialize({ key: mine })).status).toBe(200));
  });

  it('are stopped for the next session of their caller when unused, and restarted when needed', async () => {
    const key = await keyWith(app, ALL);
    const first = await openSession({ key });
    const pid = await pidOf(first);
    for (let n = 0; n < 4; n++) await pidOf(await openSession({ key }));
    const next = await pidOf(first);
    expect(next).toMatch(/^\d+$/);
    expect(next).not.toBe(pid);
  });

  it('are limited for each connection, apart from its shared program', async () => {
    const keys = await Promise.all([keyWith(app, ALL), keyWith(app, ALL)]);
    const sessions = await Promise.all([...keys, ...keys].map((key) => openSession({ key })));
    const calls = await Promise.all(sessions.map(occupy));
    expect(await initialize({ key: app.apiKey })).toMatchObject(REFUSED);
    expect(await pidOf({})).toMatch(/^\d+$/);
    const another = await connectProgram(app, [SERVER]);
    expect((await initialize({ key: app.apiKey, connection: another })).status).toBe(200);
    for (const running of calls) running.end();
  });

  it('end when they do not answer `initialize`, and when its caller has disconnected', async () => {
    const [key, other] = await Promise.all([keyWith(app, ALL), keyWith(app, ALL)]);
    const data = {
      title: 'Mute',
      connection_type: 'STDIO',
      timeout: 1000,
      stdio: { command: 'node', args: [SERVER, '--mute'] },
    };
    const created = await app.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    const connection = (created.body as { item: { id: string } }).item.id;
    const answers = await Promise.all(Array.from({ length: 6 }, () => initialize({ key, connection })));
    for (const answer of answers) expect(rpcOf(answer).error).toBeDefined();
    // None of them is left to count towards this key.
    await openSession({ key });
    await openSession({ key });
    const patient = await connectProgram(app, [SERVER, '--mute']);
    for (let n = 0; n < 6; n++) {
      const abort = new AbortController();
      const url = new URL(`/api/${app.org}/mcp/${patient}`, app.url);
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
      const headers = { authorization: `Bearer ${other}`, 'content-type': 'application/json' };
      setTimeout(() => abort.abort(), 300);
      await fetch(url, { method: 'POST', body, headers, signal: abort.signal }).catch(() => undefined);
    }
    await eventually(async () => expect((await initialize({ key: other })).status).toBe(200));
  });
});

describe('the output of a program', () => {
  it.each([
    ['many values', 'values', { count: 300_000 }],
    ['many levels', 'deep', { depth: 6_000 }],
    ['much text', 'text', { mebibytes: 9 }],
  ])('fails only the call that it answers with %s', async (_name, tool, args) => {
    const caller = { key: app.apiKey };
    const pid = await pidOf(caller);
    const { error } = await call(caller, tool, args);
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('too large to parse') });
    expect(await pidOf(caller)).toBe(pid);
  });

  it('is forwarded unchanged in a session of its caller, costly or not', async () => {
    const session = await openSession({ key: await keyWith(app, ALL) });
    const { result } = await call(session, 'text', { mebibytes: 20 });
    expect(result?.content?.[0]?.text).toHaveLength(20 * 2 ** 20);
    expect((await post(session, 'tools/call', { name: 'deep', arguments: { depth: 6_000 } })).status).toBe(200);
    expect(await pidOf(session)).toMatch(/^\d+$/);
  });

  it.each(['01', '"a\tb"'])('ends no more than the program when it answers with much and the id %j', async (id) => {
    const session = await openSession({ key: await keyWith(app, ALL) });
    const pid = await pidOf(session);
    const { error } = await call(session, 'values', { count: 300_000, id });
    expect(error?.data.code).toBe('upstream_protocol');
    expect(await pidOf(session)).not.toBe(pid);
  });

  it('ends the program when a line does not end', async () => {
    const session = await openSession({ key: await keyWith(app, ALL) });
    const pid = await pidOf(session);
    const { error } = await call(session, 'pour');
    expect(error?.data.code).toBe('upstream_protocol');
    expect(await pidOf(session)).not.toBe(pid);
  });
});
