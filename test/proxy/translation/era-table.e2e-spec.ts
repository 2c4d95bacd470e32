import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  Client as ModernClient,
  LOG_LEVEL_META_KEY,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connectListening, MODERN } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { Program } from '../../support/program.js';
import { pathOf } from '../../support/proxy-calls.js';
import { connectProgram, connectTo } from '../../support/proxy-connections.js';
import { newTenant, type Tenant } from '../../support/tenant.js';

/** `UPDATE_ERAS=1 npm test -- era-table --selectProjects e2e` writes the table instead. */
const DOCUMENT = new URL('../../../docs/mcp-proxy.md', import.meta.url);
const SERVER = fileURLToPath(new URL('../../support/stdio-fixtures/feature-server.mjs', import.meta.url));
const ERAS = ['old', 'new'] as const;
const TRANSPORTS = ['HTTP', 'STDIO'] as const;
/** A feature that does not work can show itself by silence. */
const PATIENCE_MS = 20_000;

type Era = (typeof ERAS)[number];

let app: Tenant;
let folder: string;
const programs: Program[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'era-table-'));
  app = await newTenant({ STDIO_MAX_PROCESSES: '400' });
});
afterAll(async () => {
  await app?.close();
  await Promise.all(programs.map((program) => program.kill('SIGTERM')));
  await rm(folder, { recursive: true, force: true });
});

/** A client of either era that answers what it is asked, and the methods of the notifications that it has received. */
interface AnyClient {
  readonly era: Era;
  readonly client: ModernClient;
  readonly notified: string[];
}

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const elicited = { action: 'accept' as const, content: { name: 'Ada' } };
const sampled = { role: 'assistant' as const, model: 'none', content: { type: 'text' as const, text: 'said' } };
const ROOTS = { roots: [{ uri: 'file:///home' }] };

async function openClient(era: Era, path: string, capabilities: object): Promise<AnyClient> {
  const notified: string[] = [];
  const url = new URL(path, app.url);
  const requestInit = { headers: { authorization: `Bearer ${app.apiKey}` } };
  const info = { name: 'features', version: '1' };
  const note = async ({ method }: { method: string }): Promise<void> => void notified.push(method);
  const mayAnswer = 'roots' in capabilities;
  if (era === 'old') {
    const client = new LegacyClient(info, { capabilities });
    client.fallbackNotificationHandler = note;
    if (mayAnswer) {
      client.setRequestHandler(ElicitRequestSchema, () => elicited);
      client.setRequestHandler(CreateMessageRequestSchema, () => sampled);
      client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
    }
    await connectListening(client, url, requestInit);
    // The methods that are used here are the same.
    return { era, client: client as unknown as ModernClient, notified };
  }
  const client = new ModernClient(info, { capabilities, versionNegotiation: { mode: { pin: MODERN } } });
  client.fallbackNotificationHandler = note;
  if (mayAnswer) {
    client.setRequestHandler('elicitation/create', () => elicited);
    client.setRequestHandler('sampling/createMessage', () => sampled);
    client.setRequestHandler('roots/list', () => ROOTS);
  }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return { era, client, notified };
}

/** Calls a tool with the options of the SDK, before which the older one takes a schema. */
function callTool(
  { era, client }: AnyClient,
  params: object,
  options: object = {},
): ReturnType<ModernClient['callTool']> {
  const call = client.callTool.bind(client) as (...args: unknown[]) => ReturnType<ModernClient['callTool']>;
  const limited = { timeout: PATIENCE_MS, ...options };
  return era === 'old' ? call(params, undefined, limited) : call(params, limited);
}

/** The text of a tool's answer. */
async function say(any: AnyClient, name: string, more: object = {}): Promise<string | undefined> {
  const { content, isError } = await callTool(any, { name, ...more });
  return isError === true ? undefined : (content as { text: string }[])[0]?.text;
}

const linesOf = (ledger: string, word: string): number =>
  readFileSync(ledger, { encoding: 'utf8', flag: 'a+' }).split(`${word}\n`).length - 1;

/** A feature: what its client declares, and whether it works. */
type Feature = readonly [
  name: string,
  capabilities: object,
  works: (client: AnyClient, ledger: string) => Promise<boolean>,
];
const FEATURES: readonly Feature[] = [
  ['tools', {}, async (any) => (await say(any, 'echo')) === 'echo'],
  [
    'prompts',
    {},
    async ({ client }) => {
      const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
      return JSON.stringify(messages).includes('Hello Ada');
    },
  ],
  [
    'resources',
    {},
    async ({ client }) => JSON.stringify(await client.readResource({ uri: 'note://one' })).includes('"one"'),
  ],
  [
    'completion',
    {},
    async ({ client }) => {
      const ref = { type: 'ref/prompt' as const, name: 'greet' };
      const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'A' } });
      return completion.values.join() === 'Ada';
    },
  ],
  [
    'progress',
    {},
    async (any) => {
      let count = 0;
      await callTool(any, { name: 'steps' }, { onprogress: () => void count++ });
      return count > 0;
    },
  ],
  [
    'cancellation',
    {},
    async (any, ledger) => {
      const [called, cancelled] = [linesOf(ledger, 'called'), linesOf(ledger, 'cancelled')];
      const abort = new AbortController();
      callTool(any, { name: 'never' }, { signal: abort.signal }).catch(() => undefined);
      await eventually(() => linesOf(ledger, 'called') > called);
      abort.abort();
      return within(() => linesOf(ledger, 'cancelled') > cancelled);
    },
  ],
  [
    'logging',
    {},
    async (any) => {
      if (any.client.getServerCapabilities()?.logging === undefined) return false;
      if (any.era === 'old') await any.client.setLoggingLevel('debug');
      await say(any, 'logs', any.era === 'old' ? {} : { _meta: { [LOG_LEVEL_META_KEY]: 'debug' } });
      return within(() => any.notified.includes('notifications/message'));
    },
  ],
  [
    'changes of lists',
    {},
    async (any) => {
      if (any.client.getServerCapabilities()?.tools?.listChanged !== true) return false;
      // An agent compares the list with the one that it knows.
      await any.client.listTools();
      if (any.era === 'new') await any.client.listen({ toolsListChanged: true });
      await say(any, 'grow');
      return within(() => any.notified.includes('notifications/tools/list_changed'));
    },
  ],
  [
    'updates of resources',
    {},
    async (any) => {
      if (any.client.getServerCapabilities()?.resources?.subscribe !== true) return false;
      if (any.era === 'old') await any.client.subscribeResource({ uri: 'note://one' });
      else await any.client.listen({ resourceSubscriptions: ['note://one'] });
      await say(any, 'touch');
      return within(() => any.notified.includes('notifications/resources/updated'));
    },
  ],
  ['elicitation, form', ALL, async (any) => (await say(any, 'asks')) === 'Ada'],
  ['elicitation, URL', ALL, async (any) => (await say(any, 'visits')) === 'accept'],
  ['sampling', ALL, async (any) => (await say(any, 'samples')) === 'said'],
  ['roots', ALL, async (any) => (await say(any, 'roots')) === 'file:///home'],
  [
    'MCP Apps',
    APPS,
    async ({ client }) => {
      const { tools } = await client.listTools();
      const { contents } = await client.readResource({ uri: 'ui://page' });
      return tools.some(({ name }) => name === 'app') && JSON.stringify(contents).includes('<p>');
    },
  ],
];

const within = (look: () => boolean): Promise<boolean> => eventually(look, PATIENCE_MS).then(Boolean, () => false);

async function connect(era: Era, transport: string, ledger: string): Promise<string> {
  const args = [SERVER, ledger, ...(era === 'new' ? ['--modern'] : [])];
  if (transport === 'STDIO') return connectProgram(app, args);
  const program = new Program(process.execPath, [...args, '--http']);
  programs.push(program);
  const [, port] = await program.printed(/port (\d+)/);
  return connectTo(app, `http://127.0.0.1:${port}/mcp`);
}

/** Which features work for a client of this era, by their names. */
async function featuresAt(era: Era, path: string, ledger: string): Promise<Record<string, boolean>> {
  const works: Record<string, boolean> = {};
  const clients = new Map<object, Promise<AnyClient>>();
  for (const [name, capabilities, check] of FEATURES) {
    const opening = clients.get(capabilities) ?? openClient(era, path, capabilities);
    clients.set(capabilities, opening);
    works[name] = await opening.then((client) => check(client, ledger)).catch(() => false);
  }
  for (const opening of clients.values()) await opening.then(({ client }) => client.close()).catch(() => undefined);
  return works;
}

const cellOf = (direct: boolean | undefined, agent: boolean | undefined): string => {
  if (direct === agent) return direct === true ? 'yes' : 'no';
  return direct === true ? 'direct' : 'agent';
};

/** What clients of both eras find at a server. */
async function columnsOf({ era, transport }: { era: Era; transport: string }) {
  const ledger = join(folder, `${era}-${transport}`);
  const connectionId = await connect(era, transport, ledger);
  const agent = gatewayPath(app, await agentOf(app, [connectionId]));
  const columns: { title: string; cells: Record<string, string> }[] = [];
  for (const clientEra of ERAS) {
    const direct = await featuresAt(clientEra, pathOf(app, connectionId), ledger);
    const through = await featuresAt(clientEra, agent, ledger);
    const cells = Object.fromEntries(FEATURES.map(([name]) => [name, cellOf(direct[name], through[name])]));
    columns.push({ title: `${clientEra} → ${era}, ${transport}`, cells });
  }
  return columns;
}

/** The rows of the table in the document, its head first. */
function rowsOf(document: string): string[][] {
  const [, table = ''] = document.split(/<!-- \/?eras -->/);
  const lines = table.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| -'));
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The table as Prettier formats it. */
function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [head, widths.map((width) => '-'.repeat(width)), ...body].map(lineOf).join('\n');
}

it('which features work between the eras is what docs/mcp-proxy.md says', async () => {
  const servers = ERAS.flatMap((era) => TRANSPORTS.map((transport) => ({ era, transport })));
  // The servers are asked at the same time: what takes long is waiting.
  const columns = await Promise.all(servers.map(columnsOf));
  const head = ['Feature', ...columns.flatMap((pair) => pair.map(({ title }) => title))];
  const cells = columns.flatMap((pair) => pair.map((column) => column.cells));
  const rows = [head, ...FEATURES.map(([name]) => [name, ...cells.map((column) => column[name] ?? '')])];
  const document = readFileSync(DOCUMENT, 'utf8');
  if (process.env['UPDATE_ERAS'] !== undefined) {
    const [before = '', rest = ''] = document.split('<!-- eras -->\n');
    const after = rest.slice(rest.indexOf('<!-- /eras -->'));
    writeFileSync(DOCUMENT, `${before}<!-- eras -->\n\n${tableText(rows)}\n\n${after}`);
  }
  expect(rows).toEqual(rowsOf(readFileSync(DOCUMENT, 'utf8')));
}, 600_000);
