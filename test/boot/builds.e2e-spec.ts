import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { copyContext, copyCurrentBuild } from '../support/build-context.js';
import { createTestDatabase } from '../support/database.js';
import { runProgram } from '../support/program.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';
import { ServiceProcess } from '../support/service-process.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What decides over a build beside the sources. */
const CONFIGURATION = [
  'scripts/build.mjs',
  'scripts/build-console.mjs',
  'scripts/build-service.mjs',
  'package.json',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.swcrc',
  'packages/tsconfig.json',
  'web/vite.config.ts',
];
/** The least sources that the scripts build: how they build does not depend on how much there is. */
const SMALL_SOURCES = {
  'src/main.ts': 'export const started: string = new Date().toISOString();\n',
  'src/start-service.ts': "export { started } from './main.js';\n",
  'src/boot/single-process.ts': "export { started } from '../main.js';\n",
  'packages/client/src/index.ts': 'export const name = "client";\n',
  'packages/cli/src/main.ts': 'import { name } from "../../client/src/index.js";\nprocess.stdout.write(name);\n',
  'web/index.html': '<!doctype html><title>Console</title>\n',
};
/** A thread checks the arguments of this tool, because its schema has a regular expression. */
const TOOL = {
  name: 'greet',
  inputSchema: { type: 'object', properties: { name: { type: 'string', pattern: '^[a-z]+$' } } },
};
const BUILD_MS = 240_000;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-checkouts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A folder with sources and the packages of this checkout, in which builds are made. */
class Checkout {
  private constructor(readonly path: string) {}

  /** What the Dockerfile builds from: the sources as they are, and nothing that a build does not read. */
  static async ofContext(): Promise<Checkout> {
    const path = join(folder, 'context');
    await copyContext(ROOT, '.', path);
    return Checkout.#withPackages(path);
  }

  static async ofSmallSources(): Promise<Checkout> {
    const path = join(folder, 'small');
    for (const file of CONFIGURATION) await cp(join(ROOT, file), join(path, file));
    for (const [file, text] of Object.entries(SMALL_SOURCES)) {
      await mkdir(dirname(join(path, file)), { recursive: true });
      await writeFile(join(path, file), text);
    }
    return Checkout.#withPackages(path);
  }

  static async #withPackages(path: string): Promise<Checkout> {
    await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
    return new Checkout(path);
  }

  build() {
    const options = { cwd: this.path, env: { PATH: process.env['PATH'] } };
    return runProgram(process.execPath, [join(this.path, 'scripts/build.mjs')], options);
  }

  dist(): Promise<string> {
    return readlink(join(this.path, 'dist'));
  }

  builds(): Promise<string[]> {
    return readdir(join(this.path, '.builds'));
  }

  /** Changes a source. */
  async edit(file: string, change: (text: string) => string): Promise<void> {
    const text = await readFile(join(this.path, file), 'utf8');
    const changed = change(text);
    expect(changed).not.toBe(text);
    await writeFile(join(this.path, file), changed);
  }
}

type Built = Awaited<ReturnType<Checkout['build']>>;

const COMPLETE = { end: 0, output: expect.stringContaining('Found 0 issues') };

describe('npm run build', () => {
  describe('in the context of the image', () => {
    let checkout: Checkout;
    let upstream: ScriptedServer;
    /** The name of the build that this run of the tests made or found. */
    let name: string;
    let first: Built;

    beforeAll(async () => {
      checkout = await Checkout.ofContext();
      name = await copyCurrentBuild(ROOT, checkout.path);
      first = await checkout.build();
      const { script } = legacyServer(({ message }, response) =>
        sendResult(
          response,
          message,
          message.method === 'tools/list' ? { tools: [TOOL] } : { content: [{ type: 'text', text: 'Hello' }] },
        ),
      );
      upstream = await startScripted(script);
    }, BUILD_MS);
    afterAll(() => upstream?.close());

    it('uses a build of the present sources as it is', async () => {
      expect(first).toEqual({ end: 0, output: '' });
      expect(await checkout.dist()).toBe(`.builds/${name}/dist`);
      expect(await checkout.builds()).toEqual([name]);
    });

    it(
      'leaves a running service the files that it started from, late imports and worker threads included',
      async () => {
        const before = await checkout.dist();
        await using running = await startFromDist(checkout, upstream);

        await checkout.edit('src/upstreams/arguments/check-thread.worker.ts', (source) =>
          source.replace(
            "{ kind: 'checked', faults: validate(JSON.parse(args)) }",
            "{ kind: 'failed', reason: args + ' changed' }",
          ),
        );
        expect(await checkout.build()).toEqual(COMPLETE);
        expect(await checkout.builds()).toHaveLength(2);
        expect(await checkout.dist()).not.toBe(before);

        // Its first check starts the thread, which imports the schema compiler.
        expect((await running.greet('ada')).body.result).toEqual({ content: [{ type: 'text', text: 'Hello' }] });
        expect((await running.greet('ADA')).body.result).toMatchObject({ isError: true });
        await using next = await startFromDist(checkout, upstream);
        expect((await next.greet('ada')).body.error.message).toContain('changed');
      },
      BUILD_MS,
    );
  });

  describe('of small sources', () => {
    let checkout: Checkout;
    let first: Built[];
    const buildTwice = (): Promise<Built[]> => Promise.all([checkout.build(), checkout.build()]);

    beforeAll(async () => {
      checkout = await Checkout.ofSmallSources();
      first = await buildTwice();
    }, BUILD_MS);

    it('makes one build in two terminals at once', async () => {
      expect(first).toEqual([COMPLETE, COMPLETE]);
      const [name = '', ...others] = await checkout.builds();
      expect(others).toEqual([]);
      expect(await checkout.dist()).toBe(`.builds/${name}/dist`);
    });

    it(
      'makes one more in two terminals at once where there is a build of other sources',
      async () => {
        const before = await checkout.dist();
        await checkout.edit('packages/client/src/index.ts', (source) => source.replace('client', 'changed'));
        expect(await buildTwice()).toEqual([COMPLETE, COMPLETE]);
        const current = await checkout.dist();
        expect(current).not.toBe(before);
        const targets = (await checkout.builds()).map((name) => `.builds/${name}/dist`);
        expect(targets.toSorted()).toEqual([before, current].toSorted());
      },
      BUILD_MS,
    );

    it(
      'fails on a type error and keeps the build that is there',
      async () => {
        const [before, whole] = await Promise.all([checkout.dist(), checkout.builds()]);
        await checkout.edit('src/main.ts', (source) => `${source}export const build: number = started;\n`);
        const { end, output } = await checkout.build();
        expect(end).not.toBe(0);
        expect(output).toContain('src/main.ts');
        expect([await checkout.dist(), await checkout.builds()]).toEqual([before, whole]);
      },
      BUILD_MS,
    );
  });
});

/** The service as `node dist/main.js` starts it, with a connection to the upstream. */
async function startFromDist(checkout: Checkout, upstream: ScriptedServer) {
  const database = await createTestDatabase();
  const apiKey = generateApiKey();
  const service = new ServiceProcess(
    {
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: generateEncryptionKey('test'),
      BOOTSTRAP_API_KEY: apiKey,
      UPSTREAM_ALLOW_PRIVATE: 'true',
    },
    join(checkout.path, 'dist/main.js'),
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
