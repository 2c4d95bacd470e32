import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { succeed } from '../../support/agent-runs.js';
import { startEraServer } from '../../support/era-server.js';
import { eventually } from '../../support/eventually.js';
import { callProxy, errorIn, openProxy, pathOf, rpc, rpcOf, TAKES_STREAMS } from '../../support/proxy-calls.js';
import { connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { Subscription } from '../../support/subscription.js';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
const LIMIT = 128;

const app = useStarted(newTenant);
const { argsOf, serve } = useFixtureServers('feature-server');
const options = ['--modern'];
let url: string;

beforeAll(async () => {
  ({ url } = await serve('server', { options }));
});

const connect = (kind: string): Promise<string> =>
  kind === 'server' ? connectTo(app, url) : connectProgram(app, argsOf('program', { options }));

/** Opens a session. Returns the headers of its requests, and what the upstream can do in it. */
async function openSession(path: string, key: string | undefined = app.apiKey) {
  const answer = await callProxy(app, path, { key, body: rpc('initialize', INITIALIZE) });
  const headers = { 'mcp-session-id': String(answer.headers['mcp-session-id']), ...TAKES_STREAMS };
  return { headers, capabilities: rpcOf(answer).result?.['capabilities'] };
}

/** Listens in a new session. */
async function listen(path: string, key = app.apiKey): Promise<Subscription> {
  const { headers } = await openSession(path, key);
  return new Subscription(await openProxy(app, path, { method: 'GET', key, headers }));
}

const grow = async (path: string): Promise<unknown> => {
  const { headers } = await openSession(path);
  return callProxy(app, path, { key: app.apiKey, headers, body: rpc('tools/call', { name: 'grow' }) });
};

describe.each(['server', 'program'])('a client of the legacy era at a modern %s', (kind) => {
  it('hears of the changes of its lists', async () => {
    const client = new Client({ name: 'legacy', version: '1' });
    let count = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void count++);
    const requestInit = { headers: { authorization: `Bearer ${app.apiKey}` } };
    const path = pathOf(app, await connect(kind));
    await client.connect(new StreamableHTTPClientTransport(new URL(path, app.url), { requestInit }));
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true });
    const { tools } = await client.listTools();
    // A change before the client's stream is open is not reported, so it is repeated.
    let grown = 0;
    await eventually(async () => {
      await client.callTool({ name: 'grow' });
      grown++;
      expect(count).toBeGreaterThan(0);
    });
    await eventually(async () => expect((await client.listTools()).tools).toHaveLength(tools.length + grown));
    await client.close();
  });

  it('hears nothing more when the connection is edited', async () => {
    const id = await connect(kind);
    const listening = await listen(pathOf(app, id));
    expect(listening.status).toBe(200);
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id, data: { status: 'inactive' } });
    await listening.ended;
  });
});

describe('the stream of a translated session', () => {
  it('is for those who may use the connection, and ends with their key', async () => {
    const path = pathOf(app, await connect('server'));
    const data = { name: 'short', permissions: { '*': ['echo'] } };
    const { id, key } = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', data);
    const listening = await listen(path, key);
    await grow(path);
    expect(await listening.next(0)).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    await succeed(app, 'API_KEY_DELETE', { id });
    await listening.ended;
    const foreign = await keyWith(app, { [await connect('server')]: ['*'] });
    const { headers } = await openSession(path, foreign);
    const refused = await callProxy(app, path, { method: 'GET', key: foreign, headers });
    expect([refused.status, errorIn(refused)?.data.code]).toEqual([403, 'permission_denied']);
  });

  it('does not exist at an upstream that reports no changes', async () => {
    const silent = await startEraServer('reject', { tools: {} });
    const path = pathOf(app, await connectTo(app, silent.url));
    const { headers, capabilities } = await openSession(path);
    expect(capabilities).toMatchObject({ tools: {} });
    expect(JSON.stringify(capabilities)).not.toContain('listChanged');
    const refused = await callProxy(app, path, { method: 'GET', key: app.apiKey, headers });
    expect([refused.status, errorIn(refused)?.data.code]).toEqual([405, 'method_not_allowed']);
    await silent.close();
  });

  it('is one of a limited number of its caller', async () => {
    const path = pathOf(app, await connect('server'));
    const { headers } = await openSession(path);
    const open: Subscription[] = [];
    for (let n = 0; n < LIMIT; n++) {
      open.push(new Subscription(await openProxy(app, path, { method: 'GET', key: app.apiKey, headers })));
    }
    expect(open.every(({ status }) => status === 200)).toBe(true);
    const refused = await callProxy(app, path, { method: 'GET', key: app.apiKey, headers });
    expect([refused.status, errorIn(refused)?.data.code]).toEqual([503, 'upstream_busy']);
    open[0]?.close();
    await eventually(async () => {
      const again = new Subscription(await openProxy(app, path, { method: 'GET', key: app.apiKey, headers }));
      again.close();
      expect(again.status).toBe(200);
    });
    for (const one of open) one.close();
  });
});
