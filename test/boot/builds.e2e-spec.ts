import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  appendFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { createTestDatabase } from '../support/database.js';
import { runProgram } from '../support/program.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { ServiceProcess } from '../support/service-process.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** All that a build reads. */
const INPUTS = [
  'src',
  'packages',
  'web',
  'scripts/build.mjs',
  'scripts/build-console.mjs',
  'package.json',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.swcrc',
];
/** A thread checks the arguments of this tool, because its schema has a regular expression. */
const TOOL = {
  name: 'greet',
  inputSchema: { type: 'object', properties: { name: { type: 'string', pattern: '^[a-z]+$' } } },
};
const BUILD_MS = 240_000;

let checkout: string;
let upstream: ScriptedServer;

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'signalbox-checkout-'));
  for (const input of INPUTS) await cp(join(ROOT, input), join(checkout, input), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  // The build that this run of the tests made or found.
  const current = dirname(await realpath(join(ROOT, 'dist')));
  await mkdir(join(checkout, '.builds'));
  await cp(current, current.replace(ROOT, `${checkout}/`), { recursive: true });

  const { script } = legacyServer(({ message }, response) =>
    sendResult(
      response,
      message,
      message.method === 'tools/list' ? { tools: [TOOL] } : { content: [{ type: 'text', text: 'Hello' }] },
    ),
  );
  upstream = await startScripted(script);
});

afterAll(async () => {
  await upstream.close();
  await rm(checkout, { recursive: true, force: true });
});

function build() {
  const options = { cwd: checkout, env: { PATH: process.env['PATH'] } };
  return runProgram(process.execPath, [join(checkout, 'scripts/build.mjs')], options);
}

const dist = (): Promise<string> => readlink(join(checkout, 'dist'));
const builds = (): Promise<string[]> => readdir(join(checkout, '.builds'));

describe('npm run build', () => {
  it(
    'uses a build of the present sources as it is',
    async () => {
      const [name = ''] = await builds();
      expect(await build()).toEqual({ end: 0, output: '' });
      expect(await dist()).toBe(`.builds/${name}/dist`);
      expect(await builds()).toEqual([name]);
    },
    BUILD_MS,
  );

  it(
    'leaves a running service the files that it started from, late imports and worker threads included',
    async () => {
      const before = await dist();
      await using running = await startFromDist();

      const worker = join(checkout, 'src/upstreams/arguments/check-thread.worker.ts');
      const source = await readFile(worker, 'utf8');
      const changed = source.replace(
        "{ kind: 'checked', faults: validate(JSON.parse(args)) }",
        "{ kind: 'failed', reason: args + ' changed' }",
      );
      expect(changed).not.toBe(source);
      await writeFile(worker, changed);
      // Two terminals at once.
      const ended = await Promise.all([build(), build()]);
      const complete = { end: 0, output: expect.stringContaining('Found 0 issues') };
      expect(ended).toEqual([complete, complete]);
      expect(await builds()).toHaveLength(2);
      expect(await dist()).not.toBe(before);

      // Its first check starts the thread, which imports the schema compiler.
      expect((await running.greet('ada')).body.result).toEqual({ content: [{ type: 'text', text: 'Hello' }] });
      expect((await running.greet('ADA')).body.result).toMatchObject({ isError: true });
      await using next = await startFromDist();
      expect((await next.greet('ada')).body.error.message).toContain('changed');
    },
    BUILD_MS,
  );

  it(
    'fails on a type error and keeps the build that is there',
    async () => {
      const [before, whole] = await Promise.all([dist(), builds()]);
      await appendFile(join(checkout, 'src/core/version.ts'), 'export const build: number = version;\n');
      const { end, output } = await build();
      expect(end).not.toBe(0);
      expect(output).toContain('src/core/version.ts');
      expect([await dist(), await builds()]).toEqual([before, whole]);
    },
    BUILD_MS,
  );
});

/** The service as `node dist/main.js` starts it, with a connection to the upstream. */
async function startFromDist() {
  const database = await createTestDatabase();
  const apiKey = generateApiKey();
  const service = new ServiceProcess(
    {
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: generateEncryptionKey('test'),
      BOOTSTRAP_API_KEY: apiKey,
      UPSTREAM_ALLOW_PRIVATE: 'true',
    },
    join(checkout, 'dist/main.js'),
  );
  const { url } = await service.listening();
  const post = (path: string, body: object): supertest.Test =>
    supertest(url).post(`/api/default/${path}`).set('authorization', `Bearer ${apiKey}`).send(body);
  const data = { title: 'Greeter', connection_type: 'HTTP', connection_url: upstream.url };
  const { body } = await post('tools/COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
  return {
    greet: (name: string) => post(`mcp/${body.item.id}/call-tool/greet`, { name }),
    [Symbol.asyncDispose]: async () => {
      await service.kill('SIGTERM');
      await database.drop();
    },
  };
}
