import { describe, expect, it } from '@jest/globals';
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { VaultService } from '../../../src/platform/vault/vault.service.js';
import { succeed } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { modernRequest, openLegacy, openModern } from '../../support/era-clients.js';
import { agentOf, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import {
  callProxy,
  errorIn,
  eventsOf,
  pathOf,
  type ProxyAnswer,
  rpc,
  type RpcAnswer,
  type RpcError,
  rpcOf,
  TAKES_STREAMS,
  toolCall,
} from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { legacyServer, type Script, sendJson, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { authorize, connectOauth, type Person, useOauthUpstream } from './log-in.support.js';
import type { OauthUpstream } from './oauth-upstream.js';

const URL_CLIENT = { elicitation: { url: {} } };
const GONE = 'Nobody has to sign in any more. List the tools again.';

let service: TestApp;
let upstream: OauthUpstream;
let owner: Person;

useOauthUpstream(startTestApp, (started) => ({ upstream, service, owner } = started));

const pageOf = (id: string): string => `${service.url}/connections/${id}/authorize`;
const hasPage = (id: string): string => expect.stringContaining(pageOf(id)) as never;
/** The answer in a JSON body, or at the end of a stream. */
const messageIn = (answer: ProxyAnswer): RpcAnswer =>
  String(answer.headers['content-type']).startsWith('text/event-stream')
    ? (eventsOf(answer).at(-1) as RpcAnswer)
    : rpcOf(answer);
const textOf = (answer: ProxyAnswer): string | undefined => messageIn(answer).result?.content?.[0]?.text;

describe('a client of the legacy era, at an upstream where nobody has signed in', () => {
  const initialize = (capabilities: object): object =>
    rpc('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } });
  const elicitation = (id: string): Partial<RpcError> => ({
    code: -32042,
    message: hasPage(id),
    data: {
      elicitations: [{ mode: 'url', elicitationId: expect.any(String), url: pageOf(id), message: expect.any(String) }],
    } as never,
  });
  const send = (path: string, body: object, headers: Record<string, string> = {}): Promise<ProxyAnswer> =>
    callProxy(service, path, { key: service.apiKey, headers: { ...TAKES_STREAMS, ...headers }, body });

  it.each([
    ['a connection', 'asks people to open URLs', URL_CLIENT],
    ['a connection', 'does not', {}],
    ['an agent', 'asks people to open URLs', URL_CLIENT],
    ['an agent', 'does not', {}],
  ])(
    'opens a session with %s, whose one tool has the page, and which goes on after the sign-in: it %s',
    async (at, _does, capabilities) => {
      const id = await connectOauth(service, upstream, {});
      const path = at === 'an agent' ? gatewayPath(service, await agentOf(service, [id])) : pathOf(service, id);
      // An agent describes itself without the page where its upstreams take longer than 250 ms to say that they need
      // one.
      const opened = await eventually(async () => {
        const answer = await send(path, initialize(capabilities));
        expect(messageIn(answer).result).toMatchObject({ capabilities: { tools: {} }, instructions: hasPage(id) });
        return answer;
      });
      const headers = {
        'mcp-session-id': String(opened.headers['mcp-session-id']),
        'mcp-protocol-version': '2025-11-25',
      };
      const listed = messageIn(await send(path, rpc('tools/list'), headers)).result;
      expect(listed?.tools).toEqual([
        {
          name: 'sign_in',
          title: 'Sign in',
          description: hasPage(id),
          inputSchema: { type: 'object', properties: {} },
        },
      ]);
      expect(messageIn(await send(path, rpc('ping'), headers)).result).toEqual({});
      const called = await send(path, toolCall('sign_in'), headers);
      if (capabilities === URL_CLIENT) expect(errorIn(called)).toMatchObject(elicitation(id));
      else expect(messageIn(called).result).toMatchObject({ isError: true, content: [{ text: hasPage(id) }] });

      expect((await authorize(owner, upstream, id)).status).toBe(200);
      await eventually(async () => {
        const { tools } = messageIn(await send(path, rpc('tools/list'), headers)).result ?? {};
        return tools?.some(({ name }) => name === 'whoami') === true;
      });
      expect(textOf(await send(path, toolCall('whoami'), headers))).toBe('alice');
      expect(textOf(await send(path, toolCall('sign_in'), headers))).toBe(GONE);
    },
  );

  it('gets -32042 in a session that was open when the sign-in ended', async () => {
    const id = await connectOauth(service, upstream);
    await authorize(owner, upstream, id);
    const { client, transport } = await openLegacy(service, id, { elicitation: { form: {}, url: {} } });
    await upstream.revokeAll('alice');
    const session = { 'mcp-session-id': String(transport.sessionId), 'mcp-protocol-version': '2025-11-25' };
    const answer = await send(pathOf(service, id), toolCall('whoami'), session);
    expect({ status: answer.status, error: errorIn(answer) }).toMatchObject({ status: 200, error: elicitation(id) });
    await client.close();
  });
});

describe('a caller with few rights, at an upstream where nobody has signed in', () => {
  it('gets the stand-in with any grant on the connection, and nothing without', async () => {
    const id = await connectOauth(service, upstream);
    const agent = gatewayPath(service, await agentOf(service, [id]));
    const stranger = await keyWith(service, {});
    const holder = await keyWith(service, { [id]: ['whoami'] });
    for (const path of [pathOf(service, id), agent]) {
      expect((await listThrough(service, path, holder)).names).toEqual(['sign_in']);
      const called = await callProxy(service, path, { key: holder, body: toolCall('sign_in') });
      expect(rpcOf(called).result).toMatchObject({ isError: true, content: [{ text: hasPage(id) }] });
      expect((await listThrough(service, path, stranger)).names).toEqual([]);
      const refused = await callProxy(service, path, { key: stranger, body: toolCall('sign_in') });
      expect(errorIn(refused)?.data.code).toBe('permission_denied');
      expect(refused.text).not.toContain(pageOf(id));
    }
  });
});

describe('an agent', () => {
  it('says which of its connections wait for a sign-in', async () => {
    const [first, second] = [await connectOauth(service, upstream), await connectOauth(service, upstream)];
    const path = gatewayPath(service, await agentOf(service, [first, second]));
    const waiting = (id: string): object => expect.objectContaining({ connectionId: id, signInPage: pageOf(id) });
    const before = await listThrough(service, path);
    expect(before.names).toEqual(['sign_in']);
    for (const id of [first, second]) {
      expect(before.tools[0]?.description).toContain(pageOf(id));
      expect(before.unavailable).toContainEqual(waiting(id));
    }
    const unknown = await callProxy(service, path, { key: service.apiKey, body: toolCall('whoami') });
    expect(errorIn(unknown)).toMatchObject({ message: hasPage(second), data: { code: 'unknown_tool' } });

    await authorize(owner, upstream, first);
    await eventually(async () => expect((await listThrough(service, path)).names).toContain('whoami'));
    const after = await listThrough(service, path);
    expect(after.names).not.toContain('sign_in');
    expect(after.unavailable).toEqual([waiting(second)]);
    const called = await callProxy(service, path, { key: service.apiKey, body: toolCall('sign_in') });
    expect(textOf(called)).toContain(pageOf(second));
    expect(textOf(called)).not.toContain(pageOf(first));
  });
});

describe('a client of the modern era, at an upstream where nobody has signed in', () => {
  const modern = (method: string, params: Record<string, unknown>, capabilities: object) => {
    const { headers, body } = modernRequest(method, params);
    const request = structuredClone(body) as { params: { _meta: Record<string, unknown> } };
    request.params._meta['io.modelcontextprotocol/clientCapabilities'] = capabilities;
    return { headers, body: request };
  };
  const ask = (
    path: string,
    params: Record<string, unknown>,
    { key = service.apiKey, method = 'tools/call', capabilities = URL_CLIENT as object } = {},
  ): Promise<ProxyAnswer> => callProxy(service, path, { key, ...modern(method, params, capabilities) });
  const whoami = { name: 'whoami', arguments: {} };
  const accept = { inputResponses: { sign_in: { action: 'accept' } } };
  const stateIn = (answer: ProxyAnswer): string => String(messageIn(answer).result?.['requestState']);

  /** A client of the SDK that signs in when it is asked to open a page. */
  async function signingIn(id: string, pages: string[]): Promise<Client> {
    const client = await openModern(service, id, URL_CLIENT);
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      pages.push(String((params as { url?: string }).url));
      await authorize(owner, upstream, id);
      return { action: 'accept' };
    });
    return client;
  }

  it('is asked to open the page, and then gets its answer, with a client of the SDK', async () => {
    for (const name of ['whoami', 'sign_in']) {
      const id = await connectOauth(service, upstream);
      const pages: string[] = [];
      const client = await signingIn(id, pages);
      expect((await client.listTools()).tools).toMatchObject([{ name: 'sign_in', description: hasPage(id) }]);
      const { content } = (await client.callTool({ name, arguments: {} })) as CallToolResult;
      expect(content).toMatchObject([{ text: name === 'whoami' ? 'alice' : GONE }]);
      expect(pages).toEqual([pageOf(id)]);
      await client.close();
    }
  });

  it('gets a state that is valid once, for the same request of the same caller', async () => {
    const [id, elsewhere] = [await connectOauth(service, upstream), await connectOauth(service, upstream)];
    const path = pathOf(service, id);
    const maker = await succeed<{ id: string; key: string }>(service, 'API_KEY_CREATE', {
      name: 'maker',
      permissions: { '*': ['*'] },
    });
    const { key } = maker;
    const asked = await ask(path, whoami, { key });
    expect({ status: asked.status, result: rpcOf(asked).result }).toEqual({
      status: 200,
      result: {
        resultType: 'input_required',
        requestState: expect.stringMatching(/^sign-in:/),
        inputRequests: {
          sign_in: {
            method: 'elicitation/create',
            params: { mode: 'url', url: pageOf(id), message: hasPage(id) },
          },
        },
      },
    });
    const requestState = stateIn(asked);
    const refusedWith = async (params: object, at = path, by = key): Promise<void> => {
      const refused = await ask(at, { ...whoami, ...accept, requestState, ...params }, { key: by });
      expect([refused.status, errorIn(refused)?.data.code]).toEqual([400, 'invalid_rpc_request']);
    };
    await refusedWith({ requestState: `${requestState}x` });
    await refusedWith({ requestState: agedBy(11 * 60_000, requestState, `${id}:${maker.id}`) });
    await refusedWith({ arguments: { other: 1 } });
    await refusedWith({}, pathOf(service, elsewhere));
    await refusedWith({}, path, await keyWith(service, { [id]: ['*'] }));

    // Nobody has signed in yet: the client is asked again, with another state.
    const again = await ask(path, { ...whoami, ...accept, requestState }, { key });
    expect(messageIn(again).result).toMatchObject({ resultType: 'input_required' });
    await refusedWith({});
    const declined = { sign_in: { action: 'decline' } };
    const refused = await ask(path, { ...whoami, requestState: stateIn(again), inputResponses: declined }, { key });
    expect(errorIn(refused)).toMatchObject({ code: -32000, data: { code: 'upstream_authorization_required' } });

    const last = stateIn(await ask(path, whoami));
    await authorize(owner, upstream, id);
    upstream.calls.length = 0;
    const retries = await Promise.all([1, 2, 3].map(() => ask(path, { ...whoami, ...accept, requestState: last })));
    expect(retries.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
    expect(retries.flatMap((answer) => textOf(answer) ?? [])).toEqual(['alice']);
    expect(upstream.calls).toHaveLength(1);
  });

  /** The same state, made at another time. */
  function agedBy(ageMs: number, state: string, place: string): string {
    const vault = service.app.get(VaultService, { strict: false });
    const context = `mcp-sign-in:${place}`;
    const opened = JSON.parse(vault.open(state.slice('sign-in:'.length), context)) as { at: number };
    return `sign-in:${vault.seal(JSON.stringify({ ...opened, at: opened.at - ageMs }), context)}`;
  }

  it('is asked through an agent too, for a tool that was listed before', async () => {
    const id = await connectOauth(service, upstream);
    const path = gatewayPath(service, await agentOf(service, [{ connection_id: id, selected_tools: ['whoami'] }]));
    const requestState = stateIn(await ask(path, whoami));
    expect(requestState).toMatch(/^sign-in:/);
    await authorize(owner, upstream, id);
    expect(textOf(await ask(path, { ...whoami, ...accept, requestState }))).toBe('alice');
  });

  it('gets -32021 for a call if it does not ask people to open URLs, and a list with the page', async () => {
    const id = await connectOauth(service, upstream);
    for (const path of [pathOf(service, id), gatewayPath(service, await agentOf(service, [id]))]) {
      for (const capabilities of [URL_CLIENT, { elicitation: {} }]) {
        const get = async (method: string): Promise<object | undefined> =>
          messageIn(await ask(path, {}, { method, capabilities })).result;
        const complete = { resultType: 'complete', cacheScope: 'private' };
        const described = { ...complete, capabilities: { tools: {} }, instructions: hasPage(id) };
        // As above, not always at once.
        await eventually(async () => expect(await get('server/discover')).toMatchObject(described));
        const tools = [{ name: 'sign_in', description: hasPage(id) }];
        expect(await get('tools/list')).toMatchObject({ ...complete, ttlMs: 0, tools });
      }
      const shown = await ask(path, { name: 'sign_in', arguments: {} }, { capabilities: {} });
      expect(messageIn(shown).result).toMatchObject({ isError: true, content: [{ text: hasPage(id) }] });
    }
    const refused = await ask(pathOf(service, id), whoami, { capabilities: { elicitation: { form: {} } } });
    expect({ status: refused.status, error: errorIn(refused) }).toMatchObject({
      status: 400,
      error: {
        code: -32021,
        message: hasPage(id),
        data: {
          code: 'upstream_authorization_required',
          authorization_url: pageOf(id),
          requiredCapabilities: { elicitation: { url: {} } },
        },
      },
    });
  });

  it.each([
    ['legacy', false],
    ['modern', true],
  ])('never gets -32042, which an upstream of the %s era answers', async (_era, isModern) => {
    const error = {
      code: -32042,
      message: 'Open it',
      data: { elicitations: [{ mode: 'url', url: 'https://a.example/', message: 'Open it' }] },
    };
    const tools = [{ name: 'asks', inputSchema: { type: 'object' } }];
    const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    const answer: Script = ({ message }, response) => {
      const { id, method } = message;
      const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...complete };
      if (method === 'server/discover') sendResult(response, message, discovery);
      else if (method === 'tools/list') sendResult(response, message, { tools, ...complete });
      else sendJson(response, { jsonrpc: '2.0', id, error });
    };
    const server = await startScripted(isModern ? answer : legacyServer(answer).script);
    const id = await connectTo(service, server.url);
    for (const path of [pathOf(service, id), gatewayPath(service, await agentOf(service, [id]))]) {
      for (const key of [service.apiKey, await keyWith(service, { '*': ['asks'] })]) {
        const relayed = await ask(path, { name: 'asks', arguments: {} }, { key });
        // An upstream of the modern era must not answer it: there is nothing to translate.
        if (isModern) expect(errorIn(relayed)).toEqual({ ...error, code: -32000 });
        else expect(messageIn(relayed).result).toMatchObject({ resultType: 'input_required' });
        const listed = await ask(path, {}, { key, method: 'completion/complete' });
        expect(errorIn(listed)?.code).not.toBe(-32042);
      }
    }
    await server.close();
  });
});
