import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { findFreePort } from '../../src/platform/embedded-postgres/server.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { outputOf, Program } from '../support/program.js';
import { type Announced, COMPILED, ServiceProcess } from '../support/service-process.js';
import { eventually } from '../support/eventually.js';
import { isAlive } from '../support/is-alive.js';

const START_MS = 60_000;
/** A key that an operator sets instead of using the printed one. */
const BOOTSTRAP_KEY = generateApiKey();
const AGENT = { data: { title: 'Agent' } };

const services: ServiceProcess[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.kill('SIGTERM')));
}, START_MS);

/** Starts a service; `afterEach` stops it. */
function start(env: Record<string, string>): ServiceProcess {
  const service = new ServiceProcess(env);
  services.push(service);
  return service;
}

function tool(url: string, apiKey: string, name: string, body: object): supertest.Test {
  return supertest(url).post(`/api/default/tools/${name}`).set('authorization', `Bearer ${apiKey}`).send(body);
}

/** Creates an agent and a thread for it; returns the agent's id. */
async function createThread(url: string, apiKey: string, threadId: string): Promise<string> {
  const agent = await tool(url, apiKey, 'COLLECTION_VIRTUAL_MCP_CREATE', AGENT).expect(200);
  const agentId: string = agent.body.item.id;
  const data = { id: threadId, title: 'Thread', virtual_mcp_id: agentId };
  await tool(url, apiKey, 'COLLECTION_THREADS_CREATE', { data }).expect(200);
  return agentId;
}

describe('a new data folder', () => {
  let dataDir: string;
  let apiKey: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'signalbox-dist-'));
    if (process.getuid?.() === 0) await chmod(dataDir, 0o711); // for the user that PostgreSQL runs as
  });

  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  const lockFile = (): string => join(dataDir, 'postgres', 'postmaster.pid');

  async function postmasterPid(): Promise<number> {
    return Number.parseInt(await readFile(lockFile(), 'utf8'), 10);
  }

  async function expectThread({ url }: Announced): Promise<void> {
    const thread = await tool(url, apiKey, 'COLLECTION_THREADS_GET', { id: 'kept' }).expect(200);
    expect(thread.body.item.title).toBe('Thread');
  }

  it(
    'gets no key from a start that finds its port taken; the next one prints a key that works; SIGTERM stops the service and its PostgreSQL',
    async () => {
      const occupant = createServer().listen(0, '127.0.0.1');
      try {
        await once(occupant, 'listening');
        const { port } = occupant.address() as AddressInfo;
        const refused = start({ DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'silent' });
        expect(await refused.exit()).toBe(1);
        expect(refused.output).toBe(`The port ${port} is in use. Set PORT to another one.\n`);
      } finally {
        occupant.close();
      }

      const service = start({ DATA_DIR: dataDir });
      const announced = await service.listening();
      expect(announced.apiKey).toBeDefined();
      apiKey = announced.apiKey ?? '';
      await createThread(announced.url, apiKey, 'kept');
      await supertest(announced.url).get('/health/ready').expect(200);
      const postmaster = await postmasterPid();
      expect(await service.kill('SIGTERM')).toBe(0);
      expect(existsSync(lockFile())).toBe(false);
      await expectGone(postmaster);
    },
    2 * START_MS,
  );

  it(
    'is reused by the second start, which prints no key, and after kill -9 with the PostgreSQL left running; SIGINT stops both',
    async () => {
      const killed = start({ DATA_DIR: dataDir });
      const announced = await killed.listening();
      expect(announced.apiKey).toBeUndefined();
      await expectThread(announced);
      const postmaster = await postmasterPid();
      expect(await killed.kill('SIGKILL')).toBe('SIGKILL');

      const service = start({ DATA_DIR: dataDir, BOOTSTRAP_API_KEY: BOOTSTRAP_KEY });
      await expectThread(await service.listening());
      expect(service.output).toContain('Use the key in BOOTSTRAP_API_KEY: export API_KEY=');
      expect(await postmasterPid()).toBe(postmaster);

      // One service at a time.
      const second = start({ DATA_DIR: dataDir });
      expect(await second.exit()).toBe(1);
      // Each start also removes clusters whose data folder is gone, and says so.
      expect(second.output).toMatch(/^The data folder \S+ is in use by another Signalbox process .*\n$/m);

      expect(await service.kill('SIGINT')).toBe(0);
      expect(existsSync(lockFile())).toBe(false);
    },
    2 * START_MS,
  );

  it(
    'stays consistent when a signal arrives during the start',
    async () => {
      const service = start({ DATA_DIR: dataDir });
      await eventually(() => existsSync(lockFile()), START_MS);
      expect(await service.kill('SIGINT')).toBe(0);
      expect(existsSync(lockFile())).toBe(false);
    },
    START_MS,
  );

  it(
    'is used by `npm start`, which ends the service when it is killed',
    async () => {
      const env = {
        ...process.env,
        NODE_COMPILE_CACHE: COMPILED,
        DATA_DIR: dataDir,
        DATABASE_URL: '',
        REDIS_URL: '',
        PORT: '0',
        METRICS_PORT: '0',
        PROCESSES: '1',
      };
      const npm = new Program('npm', ['start'], { cwd: fileURLToPath(new URL('../../', import.meta.url)), env });
      try {
        await npm.printed(/listens on/);
        await npm.kill('SIGTERM');
        expect(npm.output).toContain('The service has stopped');
      } finally {
        npm.signal('SIGKILL');
      }
    },
    START_MS,
  );
});

describe('npm start', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signalbox-npm-start-'));
    await mkdir(join(folder, 'dist'));
    await copyFile(new URL('../../package.json', import.meta.url), join(folder, 'package.json'));
    await writeFile(join(folder, 'dist/main.js'), 'process.stdout.write(String(process.env.PROCESSES));');
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['auto', 'not set', undefined],
    ['auto', 'empty', ''],
    ['3', '3', '3'],
  ])('passes PROCESSES=%s where it is %s', async (passed, _given, given) => {
    // Without `prestart`, which builds.
    const args = ['start', '--silent', '--ignore-scripts'];
    const env = { ...process.env, PROCESSES: given };
    expect(await outputOf('npm', args, { cwd: folder, env })).toBe(passed);
  });
});

describe('invalid settings fail the start with one line', () => {
  const database = 'postgres://127.0.0.1:1/none';
  it.each<[variable: string, env: Record<string, string>]>([
    ['PORT', { PORT: 'abc' }],
    ['ENCRYPTION_KEYS', { DATABASE_URL: database }],
    ['ENCRYPTION_KEYS', { ENCRYPTION_KEYS: `main:${Buffer.alloc(32).toString('base64')}` }],
    ['BOOTSTRAP_API_KEY', { BOOTSTRAP_API_KEY: 'change-me' }],
    ['DATABASE_URL', { DATABASE_URL: database, ENCRYPTION_KEYS: generateEncryptionKey('test') }],
  ])(
    '%s %#',
    async (variable, env) => {
      const service = start({ DATA_DIR: join(tmpdir(), 'signalbox-never-made'), ...env });
      expect(await service.exit()).toBe(1);
      expect(service.output).toMatch(/^[^\n]+\.\n$/);
      expect(service.output).toContain(variable);
      for (const value of Object.values(env)) expect(service.output).not.toContain(value);
    },
    START_MS,
  );
});

describe('processes that share a database', () => {
  let database: TestDatabase;
  let env: Record<string, string>;

  beforeAll(async () => {
    database = await createTestDatabase('template0');
    env = { DATABASE_URL: database.url, ENCRYPTION_KEYS: generateEncryptionKey('test') };
  });

  afterAll(() => database.drop());

  async function count(table: string): Promise<number> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    try {
      const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int FROM ${table}`);
      return rows[0]?.count ?? 0;
    } finally {
      await client.end();
    }
  }

  it(
    'start concurrently on an empty one, create one organization and one key, and complete a run as ROLE=api and ROLE=worker',
    async () => {
      const port = String(await findFreePort());
      start({ ...env, ROLE: 'worker', PORT: port });
      const apis = [start({ ...env, ROLE: 'api' }), start({ ...env, ROLE: 'api' })];
      const announced = await Promise.all(apis.map((each) => each.listening()));
      const [apiKey = '', ...others] = announced.flatMap((each) => each.apiKey ?? []);
      expect(others).toEqual([]);
      expect([await count('organizations'), await count('api_keys')]).toEqual([1, 1]);
      for (const { url } of announced) await tool(url, apiKey, 'RUN_LIST', {}).expect(200);

      const [{ url } = { url: '' }] = announced;
      const agentId = await createThread(url, apiKey, 'shared');
      const thread = `${url}/api/default/agent-runtime/threads/shared`;
      const authorization = `Bearer ${apiKey}`;
      const stream = await fetch(`${thread}/stream`, { headers: { authorization } });
      await supertest(thread)
        .post('/messages')
        .set('authorization', authorization)
        .send({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }], agent: { id: agentId } })
        .expect(202);
      const frames = await stream.text();
      expect(frames).toContain('"delta":"You ');
      expect(frames).toMatch(/data: \[DONE\]\n\n$/);
      const { body } = await tool(url, apiKey, 'COLLECTION_THREADS_GET', { id: 'shared' });
      expect(body.item.status).toBe('completed');
      // A worker responds only to health checks.
      await supertest(`http://127.0.0.1:${port}`).get('/health/ready').expect(200);
      await supertest(`http://127.0.0.1:${port}`).get('/api/default/tools').expect(404);
    },
    2 * START_MS,
  );
});

/** An ended process exists until it is reaped, which is up to the system after its parent has ended. */
async function expectGone(pid: number): Promise<void> {
  await eventually(() => !isAlive(pid));
}

it('a log whose reader has ended does not keep the process from ending', async () => {
  const module = new URL('../../dist/platform/logging/gathered-output.js', import.meta.url);
  const script = `const { gatheredOutput } = await import(${JSON.stringify(module.href)});
    const output = gatheredOutput();
    process.stdin.once('end', () => { output.write('x'.repeat(70_000)); output.write('the last line'); process.exit(0); }).resume();
    process.stderr.write('ready');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
  try {
    await once(child.stderr, 'data');
    child.stdout.destroy();
    const exited = once(child, 'exit');
    child.stdin.end();
    expect(await exited).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});
