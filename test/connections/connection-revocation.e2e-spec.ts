import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../support/agent-runs.js';
import { callProxy, openProxy, rpcOf } from '../support/proxy-calls.js';
import { connectProgram } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import {
  legacyServer,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../support/scripted-upstream.js';
import { isAlive } from '../support/is-alive.js';
import { useTenantOfTwo } from '../support/use-started.js';

const SERVER = fileURLToPath(new URL('../support/stdio-fixtures/hostile-server.mjs', import.meta.url));

const [app, other] = useTenantOfTwo();
/** Another process of the service, whose programs and sessions these are. */
let upstream: ScriptedServer;

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => {
    const tools = [{ name: 'hang', inputSchema: { type: 'object' } }];
    if (message.method === 'tools/list') sendResult(response, message, { tools });
  });
  upstream = await startScripted((seen, response) => {
    if (seen.method !== 'GET') return script(seen, response);
    response.writeHead(200, SSE_TYPE).flushHeaders();
    return undefined;
  });
});

afterAll(async () => {
  await upstream?.close();
});

interface Key {
  id: string;
  key: string;
}

const createKey = (): Promise<Key> =>
  succeed<Key>(app, 'API_KEY_CREATE', { name: 'brief', permissions: { '*': ['*'] } });

class McpSession {
  private constructor(
    readonly path: string,
    readonly key: string,
    readonly id: string | undefined,
  ) {}

  static sessionless(connectionId: string, key: string): McpSession {
    return new McpSession(`/api/${app.org}/mcp/${connectionId}`, key, undefined);
  }

  static async open(connectionId: string, key: string): Promise<McpSession> {
    const path = `/api/${app.org}/mcp/${connectionId}`;
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const answer = await callProxy(other, path, { key, body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
    expect(answer.status).toBe(200);
    return new McpSession(path, key, String(answer.headers['mcp-session-id']));
  }

  get headers(): Record<string, string> {
    return this.id === undefined ? {} : { 'mcp-session-id': this.id };
  }

  async call(name: string) {
    const body = { jsonrpc: '2.0', id: name, method: 'tools/call', params: { name, arguments: {} } };
    return callProxy(other, this.path, { key: this.key, headers: this.headers, body });
  }

  async pid(): Promise<number> {
    return Number(rpcOf(await this.call('pid')).result?.content?.[0]?.text);
  }

  /** How many calls of `never` have arrived at the program, as text. */
  async waiting(): Promise<unknown> {
    return rpcOf(await this.call('waiting')).result?.content?.[0]?.text;
  }

  /** Resolves when the stream of what comes unasked has ended. */
  async listen(): Promise<{ ended: Promise<unknown> }> {
    const headers = { ...this.headers, accept: 'text/event-stream' };
    const stream = await openProxy(other, this.path, { method: 'GET', key: this.key, headers });
    expect(stream.statusCode).toBe(200);
    stream.on('error', () => undefined).resume();
    return { ended: new Promise((resolve) => stream.once('close', () => resolve(true))) };
  }
}

const CHANGES = {
  deleted: (id: string) => succeed(app, 'COLLECTION_CONNECTIONS_DELETE', { id }),
  'switched off': (id: string) => succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { status: 'inactive' } }),
  edited: (id: string) => succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { timeout: 77_000 } }),
};

describe.each(Object.entries(CHANGES))('a connection that is %s in another process', (_name, change) => {
  it('ends its programs, those of sessions and others, with the calls and streams in them', async () => {
    const id = await connectProgram(app, [SERVER]);
    const [shared, session] = [McpSession.sessionless(id, app.apiKey), await McpSession.open(id, app.apiKey)];
    const pids = [await shared.pid(), await session.pid()];
    const stream = await session.listen();
    const calls = [shared.call('never'), session.call('never')];
    // A call that comes after the change would begin another program.
    for (const caller of [shared, session]) await eventually(async () => expect(await caller.waiting()).toBe('1'));
    await change(id);
    await eventually(() => !pids.some(isAlive));
    for (const call of calls) expect(rpcOf(await call).error).toBeDefined();
    await stream.ended;
  });

  it('ends the streams of sessions over HTTP', async () => {
    const data = { title: 'HTTP', connection_type: 'HTTP', connection_url: upstream.url };
    const { item } = await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data });
    const session = await McpSession.open(item.id, app.apiKey);
    const stream = await session.listen();
    await change(item.id);
    await stream.ended;
  });
});

describe('a key that is deleted in another process', () => {
  it('ends the programs of its sessions and its own, and no others', async () => {
    const id = await connectProgram(app, [SERVER]);
    const key = await createKey();
    const [mine, theirs] = [await McpSession.open(id, key.key), await McpSession.open(id, app.apiKey)];
    const ended = [await mine.pid(), await McpSession.sessionless(id, key.key).pid()];
    const kept = [await theirs.pid(), await McpSession.sessionless(id, app.apiKey).pid()];
    const call = mine.call('never').then(rpcOf, () => undefined);
    await succeed(app, 'API_KEY_DELETE', { id: key.id });
    await eventually(() => !ended.some(isAlive));
    expect((await call)?.result).toBeUndefined();
    expect(kept.every(isAlive)).toBe(true);
    expect(await theirs.pid()).toBe(kept[0]);
  });

  it('ends its calls under way without a result, which cancels them at the upstream', async () => {
    const data = { title: 'HTTP', connection_type: 'HTTP', connection_url: upstream.url };
    const { item } = await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data });
    const [program, key] = [await connectProgram(app, [SERVER]), await createKey()];
    const [shared, session] = [McpSession.sessionless(item.id, key.key), await McpSession.open(item.id, key.key)];
    const before = upstream.calls('tools/call').length;
    const theirs = McpSession.sessionless(item.id, app.apiKey).call('hang');
    await eventually(() => expect(upstream.calls('tools/call')).toHaveLength(before + 1));
    const calls = [shared.call('hang'), session.call('hang'), McpSession.sessionless(program, key.key).call('never')];
    // The key's own session or program can end first, which is an error in the answer.
    const results = calls.map((call) =>
      call.then(
        (answer) => rpcOf(answer).result,
        () => undefined,
      ),
    );
    await eventually(() => expect(upstream.calls('tools/call')).toHaveLength(before + 3));
    await succeed(app, 'API_KEY_DELETE', { id: key.id });
    expect(await Promise.all(results)).toEqual([undefined, undefined, undefined]);
    const [kept, ...cut] = upstream.calls('tools/call').slice(before);
    for (const { hungUp } of cut) expect(await hungUp).toBe(true);
    expect(await Promise.race([kept?.hungUp, sleep(200, 'under way')])).toBe('under way');
    theirs.catch(() => undefined);
  });
});
