import { afterEach, describe, expect, it } from '@jest/globals';
import { succeed, ThreadClient } from '../../support/agent-runs.js';
import { type ChangingServer, startLegacyServer, startModernServer } from '../../support/changing-server.js';
import { MODERN, modernRequest, openLegacy, openModern } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, eventsOf, pathOf } from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { type Tenant } from '../../support/tenant.js';
import { approve, BAD, diffOf, GOOD, OTHER, pin, toolNamed } from './pins.support.js';
import { useTenantOfTwo } from '../../support/use-started.js';

const ERAS = [
  ['legacy', () => startLegacyServer()],
  ['modern', () => startModernServer()],
] as const;
/** In which a change that one process has seen has to apply in the other one, and time for the call itself. */
const EVERYWHERE_MS = 2_000;

/** One organization in two processes. */
const [app, other] = useTenantOfTwo();
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Pinned {
  readonly server: ChangingServer;
  readonly id: string;
  readonly path: string;
  readonly agentId: string;
  readonly gateway: string;
}

async function pinned(rule: string, start: () => Promise<ChangingServer> = startLegacyServer): Promise<Pinned> {
  const server = await start();
  closing.push(() => server.close());
  server.offered.tools = [GOOD, OTHER];
  const id = await connectTo(app, server.url);
  const agentId = await agentOf(app, [id]);
  await pin(app, id, rule);
  const all = { server, id, path: pathOf(app, id), agentId, gateway: gatewayPath(app, agentId) };
  for (const process of [app, other]) {
    expect((await listThrough(process, all.path)).names).toEqual(['echo', 'other']);
    expect((await listThrough(process, all.gateway)).names).toEqual(['echo', 'other']);
  }
  return all;
}

const codeOf = async (process: Tenant, path: string, tool: string): Promise<string | undefined> =>
  (await callThrough(process, path, tool)).rpc.error?.data.code;

const statusesOf = async (id: string) =>
  (await diffOf(app, id)).items.map(({ name, status }): [string, string] => [name, status]);

describe.each(ERAS)('A blocked connection to an upstream of the %s era', (_era, start) => {
  it('neither lists nor calls a changed or a new tool, at any door of any process, until it is approved', async () => {
    const { server, id, path, gateway, agentId } = await pinned('block', start);
    const wide = await keyWith(app, { [id]: ['*'] });
    const narrow = await keyWith(app, { [id]: ['echo', 'other', 'added'] });
    const { client: legacy } = await openLegacy(app, id);
    const { client: capable } = await openLegacy(app, id, { sampling: {} });
    const modern = await openModern(app, id);
    closing.push(() => Promise.all([legacy.close(), capable.close(), modern.close()]));
    server.offered.tools = [BAD, OTHER, toolNamed('added')];

    for (const client of [legacy, capable, modern]) {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['other']);
    }
    for (const key of [wide, narrow]) expect((await listThrough(app, path, key)).names).toEqual(['other']);
    const { headers, body } = modernRequest('tools/list');
    const raw = await callProxy(app, path, { key: app.apiKey, headers, body });
    expect(raw.text).not.toContain('passwords');
    await eventually(async () => {
      for (const process of [app, other]) {
        for (const door of [path, gateway]) {
          expect((await listThrough(process, door)).names).toEqual(['other']);
          expect(await codeOf(process, door, 'echo')).toMatch(/^(tool_unapproved|unknown_tool)$/);
          expect(await codeOf(process, door, 'other')).toBeUndefined();
        }
        expect(await codeOf(process, path, 'echo')).toBe('tool_unapproved');
        expect(await codeOf(process, path, 'added')).toBe('tool_unapproved');
      }
    }, EVERYWHERE_MS);
    for (const client of [legacy, capable, modern]) {
      await expect(client.callTool({ name: 'echo', arguments: {} })).rejects.toThrow('nobody has approved');
    }
    const { tools } = await succeed<{ tools: { name: string }[] }>(app, 'COLLECTION_VIRTUAL_MCP_GET', { id: agentId });
    expect(tools.map(({ name }) => name)).toEqual(['other']);
    const thread = await ThreadClient.create(app, agentId);
    const { taskId, ...collected } = await thread.ask('/call echo {}');
    expect(JSON.stringify(await thread.expectWhole(taskId, collected))).not.toContain('called');
    expect(server.calls('tools/call').filter(({ message }) => message.params?.['name'] !== 'other')).toEqual([]);

    expect(await statusesOf(id)).toEqual([
      ['echo', 'changed'],
      ['added', 'new'],
    ]);
    expect(await approve(other, id, 'echo')).toEqual({ approved: ['echo'], remaining: 1 });
    await eventually(async () => {
      for (const process of [app, other]) {
        for (const door of [path, gateway]) {
          expect((await listThrough(process, door)).tools).toMatchObject([{ description: BAD.description }, OTHER]);
          expect(await codeOf(process, door, 'echo')).toBeUndefined();
        }
        expect(await codeOf(process, path, 'added')).toBe('tool_unapproved');
      }
    }, EVERYWHERE_MS);
  });

  it('calls a tool again whose definition returns to an approved one', async () => {
    const { server, id, path } = await pinned('block', start);
    for (const round of [1, 2]) {
      server.offered.tools = [BAD, OTHER];
      expect((await listThrough(app, path)).names).toEqual(['other']);
      await eventually(async () => expect(await codeOf(other, path, 'echo')).toBe('tool_unapproved'), EVERYWHERE_MS);
      server.offered.tools = [GOOD, OTHER];
      expect({ round, names: (await listThrough(app, path)).names }).toEqual({ round, names: ['echo', 'other'] });
      await eventually(async () => expect(await codeOf(other, path, 'echo')).toBeUndefined(), EVERYWHERE_MS);
    }
    await approve(app, id, 'echo');
    expect((await diffOf(app, id)).total).toBe(0);
  });

  it('lists a complete answer also to a client of the modern era that reads a stream', async () => {
    const { server, id, path } = await pinned('block', start);
    server.offered.tools = [BAD];
    const { headers, body } = modernRequest('tools/list');
    const answer = await callProxy(app, path, { key: app.apiKey, headers, body });
    const messages =
      answer.headers['content-type'] === 'text/event-stream' ? eventsOf(answer) : [JSON.parse(answer.text)];
    expect(messages.at(-1)).toMatchObject({ result: { tools: [] } });
    expect(headers['mcp-protocol-version']).toBe(MODERN);
    expect((await diffOf(app, id)).removed).toEqual(['other']);
  });
});
