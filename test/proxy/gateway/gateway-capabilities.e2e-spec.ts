import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Fixture, startFixture } from '../../conformance/fixture/start-fixture.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { type EverythingServer, startEverything } from '../../support/everything-server.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, eventsOf, pathOf, rpc, TAKES_STREAMS } from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';

const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

let app: Tenant;
let everything: EverythingServer;
let fixture: Fixture;
/** Offers only tools. */
let plain: ScriptedServer;
/** Does not answer `initialize`. */
let silent: ScriptedServer;

beforeAll(async () => {
  [app, everything, fixture] = [await newTenant(), await startEverything(), await startFixture()];
  plain = await startScripted(
    legacyServer(({ message }, response) => sendResult(response, message, { tools: [] })).script,
  );
  silent = await startScripted(() => undefined);
});
afterAll(async () => {
  await app?.close();
  await Promise.all([everything?.close(), fixture?.close(), plain?.close(), silent?.close()]);
});

type Promised = Record<string, { listChanged?: true; subscribe?: true }>;

async function promisedBy(members: readonly string[], { key = app.apiKey, capabilities = {} } = {}): Promise<Promised> {
  const path = gatewayPath(app, await agentOf(app, members));
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } };
  const answer = await callProxy(app, path, { key, headers: TAKES_STREAMS, body: rpc('initialize', params) });
  const [{ result } = { result: undefined }] = eventsOf(answer);
  return result?.['capabilities'] as Promised;
}

async function discover(path: string): Promise<string[]> {
  const headers = { ...TAKES_STREAMS, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' };
  const body = rpc('server/discover', { _meta: MODERN });
  const answer = await callProxy(app, path, { key: app.apiKey, headers, body });
  const { result } = JSON.parse(answer.text) as { result: { capabilities: Promised } };
  return kinds(result.capabilities);
}

/** A connection whose capabilities the service knows: an agent waits only a quarter of a second for them. */
async function knownAt(url: string): Promise<string> {
  const id = await connectTo(app, url);
  await discover(pathOf(app, id));
  return id;
}

const kinds = (promised: Promised): string[] => Object.keys(promised).toSorted();

describe('the declared capabilities of an agent', () => {
  it('are those that an upstream offers', async () => {
    expect(kinds(await promisedBy([await knownAt(plain.url)]))).toEqual(['tools']);
    const both = [await knownAt(plain.url), await knownAt(everything.url)];
    expect(kinds(await promisedBy(both))).toEqual(['completions', 'logging', 'prompts', 'resources', 'tools']);
    expect(kinds(await promisedBy([]))).toEqual(['tools']);
  });

  it('are those that the caller is permitted to use', async () => {
    const id = await knownAt(everything.url);
    const key = await keyWith(app, { [id]: ['echo', 'prompts'] });
    expect(kinds(await promisedBy([id], { key }))).toEqual(['completions', 'logging', 'prompts', 'tools']);
    const tools = { key: await keyWith(app, { [id]: ['echo'] }) };
    expect(kinds(await promisedBy([id], tools))).toEqual(['logging', 'tools']);
    expect(kinds(await promisedBy([id], { key: await keyWith(app, { self: ['*'] }) }))).toEqual(['tools']);
  });

  it.each([{}, { sampling: {} }])(
    'include logging and subscriptions for a client that declares %j',
    async (declared) => {
      const id = await knownAt(everything.url);
      const promised = await promisedBy([id], { capabilities: declared });
      expect(kinds(promised)).toEqual(['completions', 'logging', 'prompts', 'resources', 'tools']);
      expect(promised['resources']).toMatchObject({ subscribe: true });
      const tools = await promisedBy([await knownAt(plain.url)], { capabilities: declared });
      expect(kinds(tools)).toEqual(['tools']);
    },
  );

  it('include everything of an upstream whose capabilities are unknown', async () => {
    const promised = await promisedBy([await connectTo(app, silent.url)]);
    expect(kinds(promised)).toEqual(['completions', 'logging', 'prompts', 'resources', 'tools']);
  });

  it('are the same in the modern era', async () => {
    const discoverAgent = async (url: string) => discover(gatewayPath(app, await agentOf(app, [await knownAt(url)])));
    expect(await discoverAgent(plain.url)).toEqual(['tools']);
    const all = ['completions', 'logging', 'prompts', 'resources', 'tools'];
    // The fixture has tasks, which are an extension.
    expect(await discoverAgent(fixture.url)).toEqual([...all, 'extensions'].toSorted());
  });
});
