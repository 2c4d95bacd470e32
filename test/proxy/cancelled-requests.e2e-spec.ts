import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { useFixtureServers } from '../support/fixture-servers.js';
import { MODERN } from '../support/era-clients.js';
import { eventually } from '../support/eventually.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { callProxy, pathOf, rpc, toolCall } from '../support/proxy-calls.js';
import { auditOf, connectProgram, connectTo } from '../support/proxy-connections.js';
import { newTenant } from '../support/tenant.js';
import { useStarted } from '../support/use-started.js';

const app = useStarted(newTenant);
const { argsOf, countIn, serve } = useFixtureServers('slow-server');
let places: Record<string, { direct: string; agent: string }>;

beforeAll(async () => {
  const options = ['--modern'];
  const connections = {
    'legacy server': await connectTo(app, (await serve('legacy server')).url),
    'modern server': await connectTo(app, (await serve('modern server', { options })).url),
    'legacy program': await connectProgram(app, argsOf('legacy program')),
    'modern program': await connectProgram(app, argsOf('modern program', { options })),
  };
  places = {};
  for (const [title, id] of Object.entries(connections)) {
    places[title] = { direct: pathOf(app, id), agent: gatewayPath(app, await agentOf(app, [id])) };
  }
});
/** How many requests have reached the upstream, and how many of them were cancelled there. */
const countsAt = (upstream: string): { called: number; cancelled: number } => ({
  called: countIn(upstream, 'called'),
  cancelled: countIn(upstream, 'cancelled'),
});

/** A client of the SDK, and what it has received in answer to its tool calls and prompts. */
async function openClient(kind: string, path: string) {
  const answers: Promise<{ status: number; text: string }>[] = [];
  const errors: Error[] = [];
  const observed: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    const isSlow = /"method":"(tools\/call|prompts\/get)"/.test(String(init?.body));
    if (isSlow) {
      const { status } = response;
      answers.push(
        response
          .clone()
          .text()
          .then((text) => ({ status, text })),
      );
      answers.at(-1)?.catch(() => undefined);
    }
    return response;
  };
  const options = { fetch: observed, requestInit: { headers: { authorization: `Bearer ${app.apiKey}` } } };
  const url = new URL(path, app.url);
  const info = { name: 'cancelling', version: '1' };
  const capabilities = kind.endsWith('with sampling') ? { sampling: {} } : {};
  const isModern = kind.startsWith('modern');
  const client = isModern
    ? new ModernClient(info, { capabilities, versionNegotiation: { mode: { pin: MODERN } } })
    : new LegacyClient(info, { capabilities });
  await (isModern
    ? (client as ModernClient).connect(new ModernHttp(url, options))
    : (client as LegacyClient).connect(new LegacyHttp(url, options)));
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a client of the SDK has callbacks, not events
  client.onerror = (error) => void errors.push(error);
  return { client, answers, errors };
}

const CLIENTS = ['legacy', 'legacy with sampling', 'modern'];
const UPSTREAMS = ['legacy server', 'modern server', 'legacy program', 'modern program'];
const WAYS = ['direct', 'agent'] as const;

describe.each(CLIENTS)('a %s client that cancels its request', (kind) => {
  it.each(UPSTREAMS.flatMap((upstream) => WAYS.map((way) => [upstream, way] as const)))(
    'cancels it at a %s (%s), and gets no answer',
    async (upstream, way) => {
      const { client, answers, errors } = await openClient(kind, places[upstream]?.[way] ?? '');
      const requests = {
        tool: (signal: AbortSignal) =>
          client instanceof LegacyClient
            ? client.callTool({ name: 'slow' }, undefined, { signal })
            : client.callTool({ name: 'slow' }, { signal }),
        prompt: (signal: AbortSignal) => client.getPrompt({ name: 'slow' }, { signal }),
      };
      for (const send of Object.values(requests)) {
        const before = countsAt(upstream);
        const abort = new AbortController();
        const request = send(abort.signal);
        request.catch(() => undefined);
        await eventually(() => expect(countsAt(upstream).called).toBe(before.called + 1));
        abort.abort();
        await expect(request).rejects.toThrow();
        await eventually(() => expect(countsAt(upstream).cancelled).toBe(before.cancelled + 1));
      }
      if (kind === 'modern') return client.close();
      // The exchanges are over, although the upstream never answers, and hold nothing but keep-alives.
      await eventually(() => expect(answers).toHaveLength(2));
      expect(await Promise.all(answers)).toEqual([
        { status: 200, text: expect.stringMatching(/^(:.*\n|\n)*$/) },
        { status: 200, text: expect.stringMatching(/^(:.*\n|\n)*$/) },
      ]);
      expect(errors).toEqual([]);
      // The session goes on.
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('slow');
      await client.close();
    },
  );
});

describe.each(UPSTREAMS)('a client that takes no stream, at a %s', (upstream) => {
  it.each(WAYS)('gets 202 for a request that it cancels (%s), which is recorded', async (way) => {
    const path = places[upstream]?.[way] ?? '';
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const accept = { accept: 'application/json' };
    const send = (body: object, headers: Record<string, string>) =>
      callProxy(app, path, { key: app.apiKey, headers: { ...accept, ...headers }, body });
    const open = async (): Promise<Record<string, string>> => ({
      'mcp-session-id': String((await send(rpc('initialize', params, 0), {})).headers['mcp-session-id']),
      'mcp-protocol-version': '2025-11-25',
    });
    const cancel = (requestId: unknown, session: Record<string, string>) =>
      send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, session);
    const [session, stranger] = [await open(), await open()];
    const before = countsAt(upstream);
    const requestId = `cancelled-${upstream.replace(' ', '-')}-${way}`;
    let isOver = false;
    const call = send(toolCall('slow', {}, 7), { ...session, 'x-request-id': requestId }).finally(
      () => (isOver = true),
    );
    await eventually(() => expect(countsAt(upstream).called).toBe(before.called + 1));

    // Neither another request, nor one of the same id in another session.
    for (const [id, by] of [
      ['7', session],
      [8, session],
      [undefined, session],
      [7, stranger],
    ] as const) {
      expect((await cancel(id, by)).status).toBe(202);
      expect((await send(rpc('tools/list', {}, 9), by)).status).toBe(200);
    }
    expect({ isOver, cancelled: countsAt(upstream).cancelled }).toEqual({
      isOver: false,
      cancelled: before.cancelled,
    });

    expect((await cancel(7, session)).status).toBe(202);
    const { status, text } = await call;
    expect({ status, text }).toEqual({ status: 202, text: '' });
    await eventually(() => expect(countsAt(upstream).cancelled).toBe(before.cancelled + 1));
    expect(await eventually(async () => (await auditOf(app, requestId)) ?? false)).toMatchObject({
      tool_name: 'slow',
      status: 'error',
      error_code: 'upstream_cancelled',
    });
    // Too late, and twice.
    expect((await cancel(7, session)).status).toBe(202);
  });
});
