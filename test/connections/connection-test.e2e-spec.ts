import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { type Script, type ScriptedServer, startScripted } from '../support/scripted-upstream.js';
import { startToolServer } from '../support/tool-server.js';
import { HEADER, type Item, TOKEN, useConnectionsApp } from './connections.support.js';

const connections = useConnectionsApp();
const { call, create, update, get, rowOf } = connections;

describe('CONNECTION_TEST', () => {
  interface Check {
    ok: boolean;
    latency_ms: number;
    tools: number;
    protocol_version: string | null;
    error?: string;
  }
  let everything: EverythingServer;
  const servers: ScriptedServer[] = [];

  beforeAll(async () => {
    everything = await startEverything();
  });
  afterAll(async () => {
    await Promise.all([everything?.close(), ...servers.map((server) => server.close())]);
  });

  async function scripted(script: Script): Promise<ScriptedServer> {
    const server = await startScripted(script);
    servers.push(server);
    return server;
  }

  function check(id: string): Promise<Check> {
    return call<Check>('CONNECTION_TEST', { id });
  }

  it('lists the tools of a real server', async () => {
    const { id } = await create({ connection_url: everything.url });
    expect(await check(id)).toEqual({
      ok: true,
      latency_ms: expect.any(Number),
      tools: expect.any(Number),
      protocol_version: '2025-11-25',
    });
    const { tools } = await rowOf(id);
    expect(tools?.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum']));
    expect(await get(id)).toMatchObject({ status: 'active', tools_refreshed_at: expect.stringMatching(/Z$/) });
  });

  it('reports an upstream that is down, and its recovery', async () => {
    const { id } = await create();
    const error = 'The upstream at 127.0.0.1:9 refused the connection.';
    expect(await check(id)).toMatchObject({ ok: false, tools: 0, protocol_version: null, error });
    expect(await get(id)).toMatchObject({ status: 'error', status_reason: error });
    expect(await update(id, { connection_url: everything.url })).toMatchObject({
      status: 'active',
      status_reason: null,
    });
    expect(await check(id)).toMatchObject({ ok: true });
  });

  it.each([
    ['401', 401, 'text/plain', /answered 401: the stored credential was not accepted/],
    ['HTML', 200, 'text/html', /does not speak MCP: it answered 200 text\/html/],
    ['500', 500, 'text/plain', /answered 500/],
  ])('says what is wrong with %s, without what was sent or answered', async (_name, status, type, sentence) => {
    const server = await scripted((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(`<p>${HEADER}</p>`);
    });
    const { id, status_since: before } = await create({ connection_url: server.url, connection_token: TOKEN });
    expect(await check(id)).toMatchObject({ ok: false, error: expect.stringMatching(sentence) });
    const tested = await get(id);
    expect(tested).toMatchObject({ status: 'error', status_reason: expect.stringMatching(sentence) });
    expect(Date.parse(String(tested.status_since))).toBeGreaterThan(Date.parse(String(before)));
    await check(id);
    expect((await get(id)).status_since).toBe(tested.status_since);
  });

  it.each([401, 403])('does not blame a credential for %s where none is stored', async (status) => {
    const server = await scripted((_request, response) => void response.writeHead(status).end());
    const { id } = await create({ connection_url: server.url });
    const { error } = (await check(id)) as { error: string };
    expect(error).toContain(`answered ${status}: it refuses the request, and no credential is stored`);
  });

  it('leaves an inactive connection inactive', async () => {
    const working = await create({ connection_url: everything.url, status: 'inactive' });
    const dead = await create({ status: 'inactive' });
    expect(await check(working.id)).toMatchObject({ ok: true });
    expect(await check(dead.id)).toMatchObject({ ok: false });
    for (const { id } of [working, dead]) {
      expect(await get(id)).toMatchObject({ status: 'inactive', status_reason: null });
    }
  });

  it('sends the stored credentials, also those that an update kept', async () => {
    const server = await startToolServer('echo');
    servers.push(server);
    const { id } = await create({
      connection_url: server.url,
      connection_token: TOKEN,
      connection_headers: { headers: { 'X-Api-Key': HEADER, 'X-Team': 'blue' } },
    });
    const kept = { 'x-api-key': '***', 'X-Team': 'red' };
    await update(id, { connection_token: '***', connection_headers: { headers: kept } });
    expect(await check(id)).toMatchObject({ ok: true, tools: 1 });
    expect(server.requests.length).toBeGreaterThan(0);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-api-key': HEADER, 'x-team': 'red' });
    }
  });

  it('keeps tools whose text the database would not take as jsonb', async () => {
    const server = await startToolServer('nul\u0000', 'half\ud800');
    servers.push(server);
    const { id } = await create({ connection_url: server.url });
    expect(await check(id)).toMatchObject({ ok: true, tools: 2 });
    const agent = await call<{ item: Item }>('COLLECTION_VIRTUAL_MCP_CREATE', {
      data: { title: 'Agent', connections: [{ connection_id: id }] },
    });
    expect(await check(agent.item.id)).toMatchObject({ ok: true, tools: 2 });
  });

  it('says so when the stored credentials cannot be opened', async () => {
    const { id } = await create({ connection_url: everything.url, connection_token: TOKEN });
    const other = await create({ connection_token: TOKEN });
    const { connection_token } = await rowOf(other.id);
    await connections.service.query('UPDATE connections SET connection_token = $2 WHERE id = $1', [
      id,
      connection_token,
    ]);
    expect(await check(id)).toMatchObject({ ok: false, error: expect.stringContaining('cannot be decrypted') });
  });
});
