import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { succeed, ThreadClient } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { modernRequest } from '../../support/era-clients.js';
import { agentOf, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { connectNotepad, type Notepad, NOTEPADS } from '../../support/notepads.js';
import {
  callProxy,
  eventsOf,
  pathOf,
  type ProxyAnswer,
  rpc,
  rpcOf,
  TAKES_STREAMS,
  toolCall,
} from '../../support/proxy-calls.js';
import { keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { keyOf, signedIn } from '../../connections/upstream-oauth/log-in.support.js';
import { useStarted } from '../../support/use-started.js';

const TABLE = new URL('../../../docs/isolation.md', import.meta.url);
const ALL = { '*': ['*'] };

const app = useStarted(() => newTenant({ STDIO_MAX_PROCESSES: '400' }));

/** Calls a tool of the notepad, and returns the text of the result. */
type Caller = (tool: string, args?: object) => Promise<string>;

/** An agent over one notepad. */
interface Place {
  connectionId: string;
  agentId: string;
}

const newKey = (): Promise<string> => keyWith(app, ALL);

function textIn(answer: ProxyAnswer): string {
  const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true;
  const message = isStream ? eventsOf(answer).at(-1) : rpcOf(answer);
  const text = message?.result?.content?.[0]?.text;
  if (text === undefined) throw new Error(`The call was answered with ${answer.status}: ${answer.text}`);
  return text;
}

const withoutSession =
  (path: string, key?: string, headers = {}): Caller =>
  async (tool, args) =>
    textIn(await callProxy(app, path, { key, headers, body: toolCall(tool, args) }));

/** Opens a session; returns the headers of its requests. */
async function sessionAt(path: string, key: string, capabilities: object = {}): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } };
  const opened = await callProxy(app, path, { key, headers: TAKES_STREAMS, body: rpc('initialize', params) });
  return { ...TAKES_STREAMS, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
}

async function inSession(path: string, key: string, capabilities: object = {}): Promise<Caller> {
  return withoutSession(path, key, await sessionAt(path, key, capabilities));
}

const modern =
  (path: string, key: string): Caller =>
  async (name, args = {}) =>
    textIn(await callProxy(app, path, { key, ...modernRequest('tools/call', { name, arguments: args }) }));

const callTool =
  (path: string, key: string): Caller =>
  async (tool, args = {}) =>
    textIn(await callProxy(app, `${path}/call-tool/${tool}`, { key, body: args }));

/** Each call is a run of the thread. */
function inThread(thread: ThreadClient): Caller {
  return async (tool, args = {}) => {
    const taskId = await thread.postMessage(`/call ${tool} ${JSON.stringify(args)}`);
    await thread.waitFor(taskId, 'completed');
    const part = (await thread.answer(taskId)).parts.find((one) => 'toolCallId' in one) as unknown as {
      output: { content: { text: string }[] };
    };
    return part.output.content[0]?.text ?? '';
  };
}

const newThread = async ({ agentId }: Place): Promise<Caller> => inThread(await ThreadClient.create(app, agentId));

/** The rows of the table: two callers that may or may not see each other's note. */
const CALLERS: readonly (readonly [title: string, pair: (place: Place) => Promise<[Caller, Caller]>])[] = [
  [
    'agent: sessions of two keys',
    async ({ agentId }) => {
      const path = gatewayPath(app, agentId);
      return [await inSession(path, await newKey()), await inSession(path, await newKey())];
    },
  ],
  [
    'agent: two sessions of one key',
    async ({ agentId }) => [
      await inSession(gatewayPath(app, agentId), app.apiKey),
      await inSession(gatewayPath(app, agentId), app.apiKey),
    ],
  ],
  [
    'agent: sessions of two clients that answer requests',
    async ({ agentId }) => {
      const path = gatewayPath(app, agentId);
      return [await inSession(path, app.apiKey, { sampling: {} }), await inSession(path, app.apiKey, { sampling: {} })];
    },
  ],
  [
    'agent: two persons, without a session',
    async ({ agentId }) => {
      const keys = [await keyOf(app, await signedIn(app)), await keyOf(app, await signedIn(app))] as const;
      return [withoutSession(gatewayPath(app, agentId), keys[0]), withoutSession(gatewayPath(app, agentId), keys[1])];
    },
  ],
  [
    'agent: two keys of the modern era',
    async ({ agentId }) => [
      modern(gatewayPath(app, agentId), await newKey()),
      modern(gatewayPath(app, agentId), await newKey()),
    ],
  ],
  [
    'agent: two keys, `call-tool`',
    async ({ agentId }) => [
      callTool(pathOf(app, agentId), await newKey()),
      callTool(pathOf(app, agentId), await newKey()),
    ],
  ],
  [
    'agent: one key, without a session',
    async ({ agentId }) => [
      withoutSession(gatewayPath(app, agentId), app.apiKey),
      modern(gatewayPath(app, agentId), app.apiKey),
    ],
  ],
  [
    'agent: without a credential',
    async ({ agentId }) => [withoutSession(gatewayPath(app, agentId)), withoutSession(gatewayPath(app, agentId))],
  ],
  ['runs of two threads of one key', async (place) => [await newThread(place), await newThread(place)]],
  [
    'runs of two threads, through a nested agent',
    async (place) => {
      const outer = { ...place, agentId: await agentOf(app, [place.agentId], { title: 'Outer' }) };
      return [await newThread(outer), await newThread(outer)];
    },
  ],
  [
    'runs of one thread',
    async (place) => {
      const thread = await newThread(place);
      return [thread, thread];
    },
  ],
  [
    'a run and a session of the same key',
    async (place) => [await newThread(place), await inSession(gatewayPath(app, place.agentId), app.apiKey)],
  ],
  [
    'connection: sessions of one key',
    async ({ connectionId }) => [
      await inSession(pathOf(app, connectionId), app.apiKey),
      await inSession(pathOf(app, connectionId), app.apiKey),
    ],
  ],
  [
    'connection: two keys, without a session',
    async ({ connectionId }) => [
      withoutSession(pathOf(app, connectionId), await newKey()),
      withoutSession(pathOf(app, connectionId), await newKey()),
    ],
  ],
];

async function placeOf(notepad: Notepad, more: object = {}): Promise<Place> {
  const connectionId = await connectNotepad(app, notepad, more);
  return { connectionId, agentId: await agentOf(app, [connectionId]) };
}

/** True if the second caller reads what the first one has noted. The first one reads it in any case. */
async function verdict([first, second]: [Caller, Caller]): Promise<'own' | 'shared'> {
  const secret = randomUUID();
  await first('note', { text: secret });
  expect(await first('read')).toBe(secret);
  const seen = await second('read');
  expect([secret, 'nothing']).toContain(seen);
  return seen === secret ? 'shared' : 'own';
}

it('who shares what an upstream keeps is what docs/isolation.md says', async () => {
  const measured: Record<string, string[]> = {};
  for (const [, start] of NOTEPADS) {
    const notepad = await start();
    for (const [title, pair] of CALLERS) {
      (measured[title] ??= []).push(await verdict(await pair(await placeOf(notepad))));
    }
    const shared = await placeOf(notepad, { shared_state: true });
    const path = gatewayPath(app, shared.agentId);
    const keys = [await inSession(path, await newKey()), await inSession(path, await newKey())] as const;
    (measured['`shared_state: true`, sessions of two keys'] ??= []).push(await verdict([...keys]));
    await notepad.close();
  }
  expect(measured).toEqual(tableOf(readFileSync(TABLE, 'utf8')));
}, 120_000);

const [PROGRAM, WITH_SESSIONS] = NOTEPADS.map(([, start]) => start) as [() => Promise<Notepad>, () => Promise<Notepad>];

it.each(NOTEPADS.slice(0, 2))('%s: what is lost is made anew for the same owner', async (_title, start) => {
  const notepad = await start();
  const path = gatewayPath(app, (await placeOf(notepad)).agentId);
  const [first, second] = [await inSession(path, await newKey()), await inSession(path, await newKey())];
  for (const caller of [first, second]) await caller('note', { text: 'before' });
  notepad.lose();
  // A call can fail that is made while a program ends, and its restart waits for a moment.
  const isAnew = (caller: Caller) => async () => (await caller('read').catch(() => 'failed')) === 'nothing';
  await eventually(isAnew(first));
  await first('note', { text: 'after' });
  await eventually(isAnew(second));
  expect([await first('read'), await second('read')]).toEqual(['after', 'nothing']);
  await notepad.close();
});

it('a thread that takes the id of a deleted one has sessions of its own', async () => {
  const notepad = await PROGRAM();
  const { agentId } = await placeOf(notepad);
  const thread = await ThreadClient.create(app, agentId);
  await inThread(thread)('note', { text: 'secret' });
  await succeed(app, 'COLLECTION_THREADS_DELETE', { id: thread.id });
  const successor = inThread(await ThreadClient.create(app, agentId, thread.id));
  expect(await successor('read')).toBe('nothing');
  await successor('note', { text: 'its own' });
  expect(await successor('read')).toBe('its own');
  await notepad.close();
});

it('an agent over 20 upstreams opens what is called, and lists without a session of the caller', async () => {
  const [server, program] = [await WITH_SESSIONS(), await PROGRAM()];
  const held: string[] = [];
  for (let n = 0; n < 19; n++) held.push(await connectNotepad(app, server, { title: `Server ${n}` }));
  held.push(await connectNotepad(app, program, { title: 'Program' }));
  const path = gatewayPath(
    app,
    await agentOf(
      app,
      held.map((connection_id, n) => ({ connection_id, prefix: `c${n}` })),
    ),
  );
  // The service lists them once.
  const isListed = async (): Promise<boolean> => {
    const { names } = await listThrough(app, path);
    return names.filter((name) => name.endsWith('_note')).length === held.length;
  };
  await eventually(isListed);
  const listed = [server.opened(), program.opened()];
  const keys = await Promise.all([newKey(), newKey(), newKey()]);
  const callers = await Promise.all(keys.map((key) => inSession(path, key)));
  await Promise.all(keys.map((key) => listThrough(app, path, key)));
  expect([server.opened(), program.opened()]).toEqual(listed);
  for (const caller of callers) {
    await caller('c3_note', { text: 'x' });
    await caller('c3_read');
    await caller('c7_read');
  }
  expect([server.opened(), program.opened()]).toEqual([listed[0]! + 2 * callers.length, listed[1]]);
  await Promise.all([server.close(), program.close()]);
});

it('prompts and resources are read where the tools were called', async () => {
  const notepad = await PROGRAM();
  const path = gatewayPath(app, (await placeOf(notepad)).agentId);
  const [writer, reader] = await Promise.all([newKey(), newKey()]);
  await withoutSession(path, writer)('note', { text: 'secret' });
  const read = async (key: string): Promise<unknown[]> => {
    const asked = [rpc('prompts/get', { name: 'read' }), rpc('resources/read', { uri: 'note:///' })];
    return Promise.all(asked.map(async (body) => rpcOf(await callProxy(app, path, { key, body })).result));
  };
  expect(JSON.stringify(await read(writer)).match(/secret/g)).toHaveLength(2);
  expect(JSON.stringify(await read(reader)).match(/nothing/g)).toHaveLength(2);
});

it.each(NOTEPADS.slice(0, 2))('%s: sessions end with the client, and with the key', async (_title, start) => {
  const notepad = await start();
  const path = gatewayPath(app, (await placeOf(notepad)).agentId);
  const created = await succeed<{ key: string; id: string }>(app, 'API_KEY_CREATE', {
    name: 'short-lived',
    permissions: ALL,
  });
  const client = await sessionAt(path, created.key);
  await withoutSession(path, created.key, client)('read');
  await withoutSession(path, created.key)('read');
  const [opened, ended] = [notepad.opened(), notepad.ended()];
  expect(opened - ended).toBeGreaterThanOrEqual(2);
  await callProxy(app, path, { method: 'DELETE', key: created.key, headers: client });
  await eventually(() => expect(notepad.ended()).toBe(ended + 1));
  await succeed(app, 'API_KEY_DELETE', { id: created.id });
  await eventually(() => expect(notepad.ended()).toBe(ended + 2));
  await notepad.close();
});

/** The rows of the table whose header begins with "Callers", by their first cell. */
function tableOf(document: string): Record<string, string[]> {
  const lines = document.split('\n');
  const start = lines.findIndex((line) => line.startsWith('| Callers'));
  const rows = lines.slice(start + 2, lines.indexOf('', start));
  return Object.fromEntries(
    rows.map((row) => {
      const [title = '', ...cells] = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [title, cells.slice(0, NOTEPADS.length)];
    }),
  );
}
