import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { newTenant } from '../../support/tenant.js';
import { succeed } from '../../support/agent-runs.js';
import { APPS, type AppServer, PAGE, README, startAppServer, TEMPLATE } from '../../support/app-server.js';
import { openLegacy, openModern } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, rpc, rpcOf, TAKES_STREAMS } from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { useStarted } from '../../support/use-started.js';

const ERAS = ['legacy', 'modern'] as const;
/** Of the left servers: 8 MB, with what JSON must escape, and characters of several bytes. */
const LARGE_PAGE = `<html>${'<p title="\\u2028">"\\/é\u2028</p>\n'.repeat(10_000)}${'x'.repeat(7_700_000)}</html>`;
const RIGHT_PAGE = '<html>right</html>';
const TITLES = ['Left', 'Right'];
const QUALIFIED = /^ui:\/\/app\/page\.html\?connection=[0-9a-f]{16}$/;

const app = useStarted(newTenant);
const servers: AppServer[] = [];

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

/** Two connections with the same addresses, and an agent over them. */
async function newPair(era: (typeof ERAS)[number], page = '<html>left</html>', resources: readonly string[] = []) {
  const pair = [
    await startAppServer(era, { name: 'left', page, resources }),
    await startAppServer(era, { name: 'right', page: RIGHT_PAGE }),
  ] as const;
  servers.push(...pair);
  const left = await connectTo(app, pair[0].url, { title: 'Left' });
  const right = await connectTo(app, pair[1].url, { title: 'Right' });
  return { servers: pair, left, right, agent: await agentOf(app, [left, right]) };
}

const openClient = (era: (typeof ERAS)[number], id: string, capabilities: object = {}) =>
  era === 'modern' ? openModern(app, id, capabilities) : openLegacy(app, id, capabilities).then(({ client }) => client);

type AppClient = Pick<Awaited<ReturnType<typeof openModern>>, 'listTools' | 'readResource' | 'listResources'>;

interface PagedTool {
  name: string;
  _meta?: { ui?: { resourceUri?: string }; 'ui/resourceUri'?: string };
}

/** The address that a tool of the list names as its page. */
async function pageOf(client: object, tool: string): Promise<string> {
  const { tools } = (await (client as AppClient).listTools()) as { tools: PagedTool[] };
  return tools.find(({ name }) => name === tool)?._meta?.ui?.resourceUri ?? '';
}

async function textAt(client: object, uri: string): Promise<string> {
  const { contents } = await (client as AppClient).readResource({ uri });
  expect(contents).toHaveLength(1);
  expect(contents[0]?.uri).toBe(uri);
  return (contents[0] as { text: string }).text;
}

describe.each(ERAS)('two %s upstreams with the same addresses', (upstreamEra) => {
  let pair: Awaited<ReturnType<typeof newPair>>;
  beforeAll(async () => {
    pair = await newPair(upstreamEra, LARGE_PAGE);
  });

  it.each(ERAS)('have pages of their own for a %s client, of 8 MB and byte for byte', async (clientEra) => {
    expect(Buffer.byteLength(LARGE_PAGE)).toBeGreaterThan(8_000_000);
    const client = await openClient(clientEra, pair.agent, APPS);
    const { tools } = (await (client as AppClient).listTools()) as { tools: PagedTool[] };
    const metas = tools.filter(({ name }) => name.endsWith('show')).map(({ _meta }) => _meta);
    expect(metas).toHaveLength(2);
    for (const meta of metas) {
      expect(meta).toEqual({
        ui: { resourceUri: expect.stringMatching(QUALIFIED) },
        'ui/resourceUri': meta?.ui?.resourceUri,
        other: 1,
      });
    }
    const [left, right] = [await pageOf(client, 'left_show'), await pageOf(client, 'right_show')];
    expect(left).not.toBe(right);
    expect(await pageOf(client, 'left_refresh')).toBe(left);
    expect(await textAt(client, right)).toBe(RIGHT_PAGE);
    expect(hash('sha256', await textAt(client, left))).toBe(hash('sha256', LARGE_PAGE));
    const raw = await (client as AppClient).readResource({ uri: right });
    expect(raw.contents[0]).toMatchObject({
      mimeType: 'text/html;profile=mcp-app',
      _meta: { ui: { csp: { connectDomains: [] } } },
    });
    await expect((client as AppClient).readResource({ uri: PAGE })).rejects.toThrow(/no resource/);
    await client.close();
  });

  it.each(ERAS)('have a resource, a template and completions of their own for a %s client', async (clientEra) => {
    const client = (await openClient(clientEra, pair.agent)) as AppClient;
    const { resources } = await client.listResources();
    const addresses = resources.map(({ uri }) => uri);
    expect(new Set(addresses).size).toBe(2);
    const texts = await Promise.all(addresses.map((uri) => textAt(client, uri)));
    expect(texts).toEqual([`left ${README}`, `right ${README}`]);
    // Results of tools name it so.
    expect(await textAt(client, README)).toBe(`left ${README}`);
    const opened = client as Awaited<ReturnType<typeof openModern>>;
    const { resourceTemplates } = await opened.listResourceTemplates();
    expect(resourceTemplates).toHaveLength(2);
    const [, second = { uriTemplate: '' }] = resourceTemplates;
    const inSecond = second.uriTemplate.replace('{path}', 'a?b=c');
    expect(await textAt(client, inSecond)).toBe('right files:///a?b=c');
    const ref = { type: 'ref/resource' as const, uri: second.uriTemplate };
    const { completion } = await opened.complete({ ref, argument: { name: 'path', value: '' } });
    expect(completion.values).toEqual([`right ${JSON.stringify({ ...ref, uri: TEMPLATE })}`]);
    await opened.close();
  });

  it('have the same addresses through an agent around the agent, and in the session of a client that answers', async () => {
    const outer = await agentOf(app, [await agentOf(app, [pair.left]), pair.agent], { title: 'Outer' });
    const [around, plain, answering] = await Promise.all([
      openClient('legacy', outer),
      openClient('legacy', pair.agent),
      openClient('legacy', pair.agent, { sampling: {} }),
    ]);
    const address = await pageOf(plain, 'right_show');
    expect(address).toMatch(QUALIFIED);
    const { tools } = (await (around as AppClient).listTools()) as { tools: PagedTool[] };
    expect(tools.map(({ _meta }) => _meta?.ui?.resourceUri)).toContain(address);
    expect(await pageOf(answering, 'right_show')).toBe(address);
    for (const client of [around, plain, answering]) {
      expect(await textAt(client, address)).toBe(RIGHT_PAGE);
      await client.close();
    }
  });
});

describe('the address of a page', () => {
  it('stays what it is where nothing collides, listed or not', async () => {
    const { left, right } = await newPair('legacy');
    for (const [connection, page] of [
      [left, '<html>left</html>'],
      [right, RIGHT_PAGE],
    ] as const) {
      const agent = await agentOf(app, [connection]);
      for (const era of ERAS) {
        const client = await openClient(era, agent);
        expect(await pageOf(client, 'show')).toBe(PAGE);
        expect(await textAt(client, PAGE)).toBe(page);
        await client.close();
      }
    }
  });

  it('does not change while the other upstream is switched off', async () => {
    const { left, agent } = await newPair('legacy');
    const client = await openClient('legacy', agent);
    const address = await pageOf(client, 'right_show');
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: left, data: { status: 'inactive' } });
    await eventually(async () =>
      expect((await listThrough(app, gatewayPath(app, agent))).names).not.toContain('left_show'),
    );
    expect(await pageOf(client, 'right_show')).toBe(address);
    expect(await textAt(client, address)).toBe(RIGHT_PAGE);
    await client.close();
  });

  it('cannot be taken by an upstream that lists it', async () => {
    const honest = await newPair('legacy');
    const client = await openClient('legacy', honest.agent);
    const address = await pageOf(client, 'left_show');
    await client.close();
    const taker = await startAppServer('legacy', { name: 'taker', page: '', resources: [address, PAGE] });
    servers.push(taker);
    const members = [await connectTo(app, taker.url, { title: 'Taker' }), honest.left];
    const attacked = (await openClient('legacy', await agentOf(app, members))) as AppClient;
    expect(await textAt(attacked, address)).toBe('<html>left</html>');
    const { resources } = await attacked.listResources();
    const own = resources.map(({ uri }) => uri).filter((uri) => uri.startsWith(address));
    expect(own).toHaveLength(1);
    expect(own[0]).not.toBe(address);
    expect(await textAt(attacked, String(own[0]))).toBe(`taker ${address}`);
    await (attacked as Awaited<ReturnType<typeof openModern>>).close();
  });

  it.each([README, 'ui://other'])('cannot be taken by an upstream whose tool names it: %s', async (address) => {
    const honest = await newPair('legacy', undefined, [address]);
    const taker = await startAppServer('legacy', { name: 'taker', page: '', named: address });
    servers.push(taker);
    const agent = await agentOf(app, [honest.left, await connectTo(app, taker.url, { title: 'Taker' })]);
    const client = (await openClient('legacy', agent)) as AppClient;
    // Pages belong to whose tools name them, and everything else to who lists it.
    const isPage = address !== README;
    expect(await textAt(client, address)).toBe(`${isPage ? 'taker' : 'left'} ${address}`);
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    const [own = ''] = uris.filter((uri) => uri.startsWith(address));
    expect(own).not.toBe(address);
    expect(await textAt(client, own)).toBe(`left ${address}`);
    await (client as Awaited<ReturnType<typeof openModern>>).close();
  });

  it('is not asked of another upstream if its own may not be read', async () => {
    const { left, right, agent } = await newPair('legacy');
    const client = await openClient('legacy', agent);
    const [address, others] = [await pageOf(client, 'left_show'), await pageOf(client, 'right_show')];
    await client.close();
    const key = await keyWith(app, { [left]: ['show'], [right]: ['resources'] });
    const params = { protocolVersion: '2025-11-25', clientInfo: { name: 'asked', version: '1' } };
    const path = gatewayPath(app, agent);
    const opened = await callProxy(app, path, {
      key,
      body: rpc('initialize', { ...params, capabilities: { sampling: {} } }),
    });
    const headers = { ...TAKES_STREAMS, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const send = async (method: string, uri: string): Promise<string> =>
      (await callProxy(app, path, { key, headers, body: rpc(method, { uri }) })).text;
    expect(await send('resources/read', others)).toContain(RIGHT_PAGE);
    for (const uri of [address, PAGE]) {
      expect(await send('resources/read', uri)).toContain('no resource');
      expect(await send('resources/subscribe', uri)).toContain('no resource');
    }
  });

  it('is read in the session of the client, if only that session has its tool', async () => {
    const needsSampling = true;
    const pair = await Promise.all(
      ['left', 'right'].map((name) =>
        startAppServer('legacy', { name, page: `<html>${name} for sampling</html>`, needsSampling }),
      ),
    );
    servers.push(...pair);
    const [left = '', right = ''] = await Promise.all(
      pair.map(({ url }, at) => connectTo(app, url, { title: TITLES[at] })),
    );
    for (const [members, tool, form] of [
      [[left, right], 'right_show', QUALIFIED],
      [[right], 'show', /^ui:\/\/app\/page\.html$/],
    ] as const) {
      const agent = await agentOf(app, members);
      const client = await openClient('legacy', agent, { sampling: {} });
      const address = await pageOf(client, tool);
      expect(address).toMatch(form);
      expect(await textAt(client, address)).toBe('<html>right for sampling</html>');
      const plain = await openClient('legacy', agent);
      expect(await pageOf(plain, tool)).toBe('');
      await expect((plain as AppClient).readResource({ uri: address })).rejects.toThrow();
      await Promise.all([client.close(), plain.close()]);
    }
  });

  it('needs the permission for resources of its connection', async () => {
    const { left, right, agent } = await newPair('legacy');
    const client = await openClient('legacy', agent);
    const address = await pageOf(client, 'right_show');
    await client.close();
    const read = async (permissions: Record<string, string[]>): Promise<string> => {
      const key = await keyWith(app, permissions);
      const answered = await callProxy(app, gatewayPath(app, agent), {
        key,
        body: rpc('resources/read', { uri: address }),
      });
      return JSON.stringify(rpcOf(answered).result ?? rpcOf(answered).error);
    };
    expect(await read({ [left]: ['*'], [right]: ['show'] })).toContain('no resource');
    expect(await read({ [right]: ['resources'] })).toContain(RIGHT_PAGE);
  });
});

it('a subscription to an address that two upstreams have is that of one, and so are its notifications', async () => {
  const {
    servers: [left, right],
    agent,
  } = await newPair('legacy');
  const { client } = await openLegacy(app, agent, { sampling: {} });
  const updated: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
  const [, address = { uri: '' }] = (await client.listResources()).resources;
  await client.subscribeResource({ uri: address.uri });
  expect(left.calls('resources/subscribe')).toEqual([]);
  expect(right.calls('resources/subscribe').map(({ message }) => message.params)).toEqual([{ uri: README }]);
  await eventually(async () => {
    await right.announceUpdate(README);
    expect(updated).toContain(address.uri);
  });
  expect(new Set(updated)).toEqual(new Set([address.uri]));
  await client.close();
});

it('an update names the page as the tools do, in the stream and in an answer, and asks no upstream for lists', async () => {
  const {
    servers: [left, right],
    agent,
  } = await newPair('legacy');
  const { client } = await openLegacy(app, agent, { sampling: {} });
  const updated: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
  const address = await pageOf(client, 'right_show');
  await client.callTool({ name: 'right_show', arguments: { updated: PAGE } });
  expect(updated).toEqual([address]);
  await eventually(async () => {
    await right.announceUpdate(PAGE);
    expect(updated.length).toBeGreaterThan(1);
  });
  expect(new Set(updated)).toEqual(new Set([address]));
  for (const server of [left, right]) expect(server.calls('resources/list')).toEqual([]);
  await client.close();
});

it('a caller without the permission for resources lists none, and no upstream is asked', async () => {
  const { servers: pair, left, agent } = await newPair('legacy');
  const key = await keyWith(app, { [left]: ['show'] });
  for (const method of ['resources/list', 'resources/templates/list']) {
    const { result } = rpcOf(await callProxy(app, gatewayPath(app, agent), { key, body: rpc(method) }));
    expect(Object.values(result ?? {})).toEqual([[]]);
    expect(pair.flatMap((server) => server.calls(method))).toEqual([]);
  }
});
