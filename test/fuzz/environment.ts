import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { ServiceProcess } from '../support/service-process.js';
import type { OpenApi } from './sequences.js';
import type { Fixtures } from './world.js';

const UPSTREAMS = fileURLToPath(new URL('./upstreams.mjs', import.meta.url));
const PROGRAM = fileURLToPath(new URL('./program.mjs', import.meta.url));
const ORGANIZATION = 'default';
const LOG_EVERY_MS = 200;
const KEPT_OF_LOG = 20_000;
const FULL_KEY = /sbx_[0-9A-Za-z]{49}/;

/** The service that is fuzzed, as its own process with a database of its own, and what it talks to. */
export interface Environment {
  readonly url: string;
  readonly fixtures: Fixtures;
  readonly document: OpenApi;
  /** Whether the process has ended. */
  hasEnded(): boolean;
  /** What the log has that it must not: credentials, and errors that nobody was answered. */
  logFaults(): readonly string[];
  /** The end of the log. */
  logTail(): string;
  /** Calls a management tool with every permission. @throws when it is refused */
  tool(name: string, body: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function startEnvironment(): Promise<Environment> {
  const stops: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  };
  try {
    return { ...(await start(stops)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @param stops takes what ends that which was started */
async function start(stops: (() => Promise<unknown>)[]): Promise<Omit<Environment, 'close'>> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-fuzz-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  // The embedded server runs as another user where this is root, who has to pass through.
  await chmod(folder, 0o711);
  const secret = `fuzzsecret${randomBytes(12).toString('hex')}`;
  const token = `${secret}-token`;
  const upstreams = spawn(process.execPath, [UPSTREAMS, token], { stdio: ['ignore', 'pipe', 'inherit'] });
  stops.push(async () => upstreams.kill('SIGKILL'));
  const addresses: Record<string, string> = {
    ...(await firstLine(upstreams)),
    nothing: 'http://127.0.0.1:9/mcp',
    program: PROGRAM,
    token,
  };

  const [all, other] = [generateApiKey(), generateApiKey()];
  const env = {
    DATA_DIR: join(folder, 'data'),
    STDIO_COMMANDS: 'node',
    STREAM_RETENTION_MS: '2000',
    STDIO_IDLE_MS: '1000',
  };
  const first = new ServiceProcess({ ...env, BOOTSTRAP_ORG: 'other', BOOTSTRAP_API_KEY: other });
  await first.listening();
  await first.kill('SIGTERM');
  const service = new ServiceProcess({ ...env, BOOTSTRAP_ORG: ORGANIZATION, BOOTSTRAP_API_KEY: all });
  stops.push(async () => service.hasEnded || service.kill('SIGTERM'));
  const { url } = await service.listening();
  const log = watchLog(service, secret);
  stops.push(async () => log.stop());

  const tool = async (name: string, body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}/api/${ORGANIZATION}/tools/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${all}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (response.status !== 200) throw new Error(`${name} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    url,
    fixtures: await prepare(tool, addresses, { all, other }, secret),
    document: withoutReferences(await (await fetch(`${url}/openapi.json`)).json()) as OpenApi,
    hasEnded: () => service.hasEnded,
    logFaults: () => log.faults(),
    logTail: () => log.tail(),
    tool,
  };
}

const COMPONENT = '#/components/schemas/';

/** The document with the schemas in the place of the references to them; none refers to itself. */
function withoutReferences(document: unknown): unknown {
  const { components } = document as { components: { schemas: Record<string, unknown> } };
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref: ref } = value as { $ref?: unknown };
    if (typeof ref === 'string' && ref.startsWith(COMPONENT)) {
      return resolve(components.schemas[ref.slice(COMPONENT.length)]);
    }
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolve(member)]));
  };
  return resolve(document);
}

type Tool = Environment['tool'];

/** Connections, agents and keys that all sequences use. */
async function prepare(
  tool: Tool,
  addresses: Record<string, string>,
  keys: Record<string, string>,
  secret: string,
): Promise<Fixtures> {
  const made = async (name: string, data: object): Promise<string> => {
    const { item } = await tool(name, { data });
    return (item as { id: string }).id;
  };
  const connections: string[] = [];
  for (const title of ['legacy', 'stateless', 'modern', 'either', 'guarded']) {
    connections.push(
      await made('COLLECTION_CONNECTIONS_CREATE', {
        title,
        connection_type: 'HTTP',
        connection_url: addresses[title],
        connection_token: addresses['token'],
        connection_headers: { headers: { 'x-secret': `${secret}-header` } },
        timeout: 20_000,
      }),
    );
  }
  connections.push(
    await made('COLLECTION_CONNECTIONS_CREATE', {
      title: 'program',
      connection_type: 'STDIO',
      timeout: 20_000,
      stdio: { command: 'node', args: [addresses['program']], env: { SECRET: `${secret}-environment` } },
    }),
  );
  const compose = (title: string, ids: string[]): Promise<string> =>
    made('COLLECTION_VIRTUAL_MCP_CREATE', {
      title,
      instructions: 'Be brief.',
      connections: ids.map((connection_id) => ({ connection_id })),
    });
  const agents = [
    await compose('one', connections.slice(0, 1)),
    await compose('all', connections),
    await compose('empty', []),
  ];
  agents.push(await compose('nested', agents.slice(0, 2)));

  const keyFor = async (name: string, permissions: object): Promise<void> => {
    keys[name] = String((await tool('API_KEY_CREATE', { name, permissions }))['key']);
  };
  await keyFor('empty', {});
  await keyFor('narrow', {
    self: ['COLLECTION_THREADS_LIST', 'API_KEY_CREATE'],
    [connections[0] ?? '']: ['echo'],
    [agents[1] ?? '']: ['legacy_echo'],
  });
  const { key, id } = await tool('API_KEY_CREATE', { name: 'deleted', permissions: { self: ['*'] } });
  keys['deleted'] = String(key);
  await tool('API_KEY_DELETE', { id });
  return { organization: ORGANIZATION, keys, connections, agents, addresses, secret };
}

/** Reads the log as it grows, so that it need not be kept. */
function watchLog(service: ServiceProcess, secret: string) {
  const faults: string[] = [];
  let tail = '';
  const look = (): void => {
    // What may be the beginning of a line is looked at again with its end.
    const end = service.output.lastIndexOf('\n') + 1;
    const lines = service.output.slice(0, end);
    service.output = service.output.slice(end);
    if (lines.includes(secret)) faults.push(`The log holds a stored secret: ${around(lines, lines.indexOf(secret))}`);
    const key = FULL_KEY.exec(lines);
    if (key !== null) faults.push(`The log holds an API key: ${around(lines, key.index)}`);
    for (const line of lines.split('\n')) {
      if (/"level":"fatal"|unhandled|uncaught/i.test(line)) faults.push(`The log has ${line.slice(0, 2_000)}`);
    }
    tail = (tail + lines).slice(-KEPT_OF_LOG);
  };
  const timer = setInterval(look, LOG_EVERY_MS);
  return {
    faults: () => (look(), faults),
    tail: () => (look(), tail),
    stop: () => clearInterval(timer),
  };
}

function around(text: string, index: number): string {
  return text.slice(text.lastIndexOf('\n', index) + 1, index + 200);
}

async function firstLine(child: ChildProcess): Promise<Record<string, string>> {
  if (child.stdout === null) throw new Error('The servers have no standard output.');
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return JSON.parse(chunk.toString()) as Record<string, string>;
}
