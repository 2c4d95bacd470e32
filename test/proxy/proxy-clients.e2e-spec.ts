import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, succeed } from '../support/agent-runs.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { startEverything, type EverythingServer } from '../support/everything-server.js';
import { openLegacyClient, openModernClient, type Endpoint, type FieldClient } from '../support/field-clients.js';
import { FLOWS } from '../support/field-flows.js';
import { connectProgram } from '../support/proxy-connections.js';
import { entryOf } from '../support/reference-servers.js';

const PATIENCE_MS = 60_000;

/** Each with the era that it speaks to the proxy of a legacy server. */
const CLIENTS: readonly [string, 'legacy' | 'modern', (endpoint: Endpoint) => Promise<FieldClient>][] = [
  ['@modelcontextprotocol/sdk 1.32', 'legacy', openLegacyClient],
  ['@modelcontextprotocol/client 2.4', 'legacy', openModernClient],
  [
    '@modelcontextprotocol/client 2.4, with era negotiation',
    'modern',
    (endpoint) => openModernClient(endpoint, 'auto'),
  ],
];
/** The members of results that only one era has. */
const MEMBERS_OF_ERAS = new Set(['resultType', 'ttlMs', 'cacheScope', 'execution']);
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

let app: Tenant;
let everything: EverythingServer;
let folder: string;
const clients = new Set<FieldClient>();

beforeAll(async () => {
  everything = await startEverything();
  app = await newTenant();
  folder = await mkdtemp(join(tmpdir(), 'signalbox-clients-'));
}, PATIENCE_MS);

afterAll(async () => {
  for (const client of clients) await client.close();
  await app?.close();
  await everything?.close();
  await rm(folder, { recursive: true });
});

const through = (connectionId: string, apiKey = app.apiKey): Endpoint => ({
  url: `${app.url}/api/${app.org}/mcp/${connectionId}`,
  apiKey,
});

const program = (...args: string[]): Endpoint => ({ command: process.execPath, args });

async function keyFor(permissions: Record<string, string[]>): Promise<string> {
  return (await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'limited', permissions })).key;
}

/** Connects a client that is closed after the test. */
async function opened(client: Promise<FieldClient>): Promise<FieldClient> {
  clients.add(await client);
  return client;
}

/** The result without what only one era has. */
function withoutEra(result: unknown): unknown {
  const text = JSON.stringify(result, (name, value: unknown) => {
    if (MEMBERS_OF_ERAS.has(name)) return undefined;
    if (name !== '_meta') return value;
    const { [SERVER_INFO]: _server, ...others } = value as Record<string, unknown>;
    return Object.keys(others).length === 0 ? undefined : others;
  });
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

describe.each(CLIENTS)('%s', (_title, era, open) => {
  const comparable = era === 'legacy' ? (result: unknown) => result : withoutEra;

  describe.each(['HTTP', 'STDIO'])('with server-everything over %s', (kind) => {
    let direct: FieldClient;
    let proxied: FieldClient;

    beforeAll(async () => {
      const args = [entryOf('server-everything'), 'stdio'];
      const http = kind === 'HTTP';
      const connectionId = http
        ? await connect(app, everything.url)
        : await connectProgram(app, args, { title: 'Everything' });
      direct = await opened(open(http ? { url: everything.url } : program(...args)));
      proxied = await opened(open(through(connectionId)));
    }, PATIENCE_MS);

    it.each(FLOWS.filter(({ needsSession }) => era === 'legacy' || needsSession === undefined))(
      '$title',
      async ({ run }) => {
        const expected = await run(direct);
        const received = await run(proxied);
        expect(comparable(received)).toEqual(comparable(expected));
      },
    );

    it(`speaks the ${era} era`, async () => {
      expect(await proxied.listTools()).toEqual(expect.objectContaining({ tools: expect.anything() as unknown }));
      const session = [
        () => proxied.ping(),
        () => proxied.setLoggingLevel('error'),
        () => proxied.subscribeResource('demo://resource/dynamic/text/2'),
      ];
      for (const request of session) {
        if (era === 'legacy') await request();
        else await expect(request()).rejects.toThrow();
      }
    });
  });

  it('lists and calls the tools of server-filesystem over STDIO', async () => {
    await writeFile(join(folder, 'note.txt'), 'Written in the folder');
    const args = [entryOf('server-filesystem'), folder];
    const direct = await opened(open(program(...args)));
    const proxied = await opened(open(through(await connectProgram(app, args, { title: 'Files' }))));

    expect(comparable(await proxied.listTools())).toEqual(comparable(await direct.listTools()));
    const read = (client: FieldClient) => client.callTool('read_text_file', { path: join(folder, 'note.txt') });
    expect(comparable(await read(proxied))).toEqual(comparable(await read(direct)));
    expect(await read(proxied)).toMatchObject({ content: [{ text: 'Written in the folder' }] });
  });

  it('sees and calls only the granted tools', async () => {
    const connectionId = await connect(app, everything.url);
    const client = await opened(open(through(connectionId, await keyFor({ [connectionId]: ['echo'] }))));

    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo']);
    expect(await client.callTool('echo', { message: 'hi' })).toMatchObject({ content: [{ text: 'Echo: hi' }] });
    await expect(client.callTool('get-sum', { a: 1, b: 2 })).rejects.toThrow();
    // A refusal concerns the request, not the session.
    expect(await client.callTool('echo', { message: 'still' })).toMatchObject({ content: [{ text: 'Echo: still' }] });
  });

  it('reads resources and prompts only where they are granted', async () => {
    const connectionId = await connect(app, everything.url);
    const openWith = async (...grants: string[]) =>
      opened(open(through(connectionId, await keyFor({ [connectionId]: grants }))));
    const [reader, prompter, neither] = [
      await openWith('resources'),
      await openWith('prompts'),
      await openWith('echo'),
    ];
    const uri = 'demo://resource/dynamic/text/1';

    expect((await reader.listResources()).resources).not.toEqual([]);
    expect((await reader.readResource(uri)).contents).toEqual([expect.objectContaining({ uri })]);
    await expect(reader.getPrompt('simple-prompt')).rejects.toThrow();

    expect(await prompter.getPrompt('simple-prompt')).toHaveProperty('messages');
    await expect(prompter.readResource(uri)).rejects.toThrow();

    await expect(neither.readResource(uri)).rejects.toThrow();
    await expect(neither.getPrompt('simple-prompt')).rejects.toThrow();
  });

  it('ends its session with DELETE', async () => {
    const endpoint = through(await connect(app, everything.url));
    const client = await opened(open(endpoint));
    const session = client.sessionId() ?? '';
    expect(session === '').toBe(era === 'modern');
    if (era === 'modern') return;
    await client.terminateSession();

    const { url, apiKey } = endpoint as { url: string; apiKey: string };
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    await answer.body?.cancel();
    expect(answer.status).toBe(404);
  });

  it('gets its own answers when ten clients use the same ids at once', async () => {
    const endpoint = through(await connect(app, everything.url));
    const callers = await Promise.all(Array.from({ length: 10 }, () => opened(open(endpoint))));
    const calls = callers.flatMap((client, caller) =>
      Array.from({ length: 10 }, async (_, call) => {
        const message = `caller ${caller}, call ${call}`;
        expect(await client.callTool('echo', { message })).toMatchObject({ content: [{ text: `Echo: ${message}` }] });
      }),
    );
    await Promise.all(calls);
  });
});
