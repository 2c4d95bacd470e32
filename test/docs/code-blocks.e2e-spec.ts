import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';
import { allCodeBlocks, allPages, type CodeBlock, ROOT } from './code-blocks.support.js';

/** Blocks that no test takes apart, and why. The others are checked here or run in running-blocks.e2e-spec.ts. */
const NOT_CODE: Readonly<Record<string, string>> = {
  'README.md text': 'Output of the demo, which running-blocks.e2e-spec.ts compares, and a diagram.',
  'docs/api/streams.md text': 'An excerpt of a stream with changing ids.',
  'docs/architecture.md text': 'A diagram.',
  'docs/identity.md ': 'Addresses of the endpoints.',
  'docs/limits.md text': 'Headers of a response.',
  'docs/operations/redis.md text':
    'The user of Redis, which test/platform/redis/redis-access.e2e-spec.ts reads and uses.',
  'docs/operations/telemetry.md text': 'A tree of spans.',
  'src/*/README.md': 'Charts and walks of the rooms.',
  'docs/tutorial.md text': 'Output that running-blocks.e2e-spec.ts compares.',
};
/** Languages that the tests below check. */
const CHECKED = ['sh', 'ts', 'js', 'json', 'yaml', 'python'];
/** YAML that belongs to other products. */
const OF_OTHERS = ['rules'];

const exec = promisify(execFile);
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');
/** Indentation and line ends differ between a page and a file. */
const condensed = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
const nameOf = ({ page, code }: CodeBlock): string => `${page}: ${code.split('\n')[0]}`;

let blocks: readonly CodeBlock[];

beforeAll(async () => {
  blocks = await allCodeBlocks();
});

const of = (...languages: string[]): readonly CodeBlock[] =>
  blocks.filter(({ language }) => languages.includes(language));

describe('the pages of the documentation', () => {
  it('name files and folders that exist', async () => {
    // Records and the changelog tell what was there at their time.
    const pages = (await allPages()).filter((page) => !/^(?:CHANGELOG|docs\/decisions\/2)/.test(page));
    for (const page of pages) {
      const named = (await read(page)).matchAll(
        /`((?:bench|deploy|docs|examples|packages|scripts|src|test|web)\/[\w./-]+)`/g,
      );
      for (const [, path = ''] of named) expect([page, path, existsSync(join(ROOT, path))]).toEqual([page, path, true]);
    }
  });

  it('name files of the rooms that exist', async () => {
    const files = globSync('src/**/*.{ts,sql}', { cwd: ROOT });
    for (const page of ['docs/architecture.md', ...globSync('src/*/README.md', { cwd: ROOT })]) {
      const named = [...(await read(page)).matchAll(/`([\w./-]+\.(?:ts|sql))`/g)].map(([, path = '']) => path);
      const missing = named.filter((path) => !files.some((file) => `/${file}`.endsWith(`/${path}`)));
      expect([page, named.length > 0, missing]).toEqual([page, true, []]);
    }
  });

  it('name every management tool, and no other', async () => {
    const rows = (await read('docs/api/management-tools.md')).match(/^\|.*\|$/gm) ?? [];
    const named = [...rows.join('\n').matchAll(/`([A-Z_]+_)(?:\{([A-Z,_]+)\}|([A-Z]+))`/g)].flatMap(
      ([, start = '', ends = '', end = '']) =>
        ends === '' ? [start + end] : ends.split(',').map((each) => start + each),
    );
    const tools = [...(await read('packages/client/src/openapi.ts')).matchAll(/\/tools\/(\w+)"/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => name !== 'VIRTUAL_MCP').toSorted()).toEqual(tools.toSorted());
  });
});

describe('the code blocks of the documentation', () => {
  it('are all checked, or left out for a reason', () => {
    const kindOf = ({ page, language }: CodeBlock): string =>
      /^src\/\w+\/README\.md$/.test(page) ? 'src/*/README.md' : `${page} ${language}`;
    const others = blocks.filter(({ language }) => !CHECKED.includes(language));
    expect(others.filter((block) => NOT_CODE[kindOf(block)] === undefined).map(nameOf)).toEqual([]);
    const found = new Set(others.map(kindOf));
    expect(Object.keys(NOT_CODE).filter((each) => !found.has(each))).toEqual([]);
  });

  it('in TypeScript are parts of files that are compiled and run', async () => {
    const files = ['examples', 'src', 'test'].flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: ROOT }));
    const sources = files.filter((path) => !path.includes('node_modules'));
    const texts = new Map(await Promise.all(sources.map(async (path) => [path, condensed(await read(path))] as const)));
    // The client's is a program of its own, which running-blocks.e2e-spec.ts runs.
    const shown = of('ts').filter(({ page }) => page !== 'packages/client/README.md');
    expect(shown.length).toBeGreaterThan(20);
    for (const block of shown) {
      const [, path, code = block.code] = /^\/\/ (\S+\.ts)\n([^]*)$/.exec(block.code) ?? [];
      const candidates = path === undefined ? [...texts.values()] : [texts.get(path) ?? ''];
      expect([nameOf(block), candidates.some((text) => text.includes(condensed(code)))]).toEqual([nameOf(block), true]);
    }
  });

  it('in JavaScript are free of syntax errors', () => {
    for (const block of of('js')) {
      const { diagnostics } = ts.transpileModule(block.code, { reportDiagnostics: true });
      expect([nameOf(block), diagnostics?.map(({ messageText }) => messageText)]).toEqual([nameOf(block), []]);
    }
  });

  it('in JSON can be parsed', () => {
    expect(of('json').length).toBeGreaterThan(3);
    for (const { code } of of('json')) expect(() => JSON.parse(code)).not.toThrow();
  });

  it('in YAML are valid values of the chart, or the file of the command line, which running-blocks.e2e-spec.ts plans', async () => {
    const schema = JSON.parse(await read('deploy/helm/signalbox/values.schema.json'));
    const isValid = new Ajv({ strict: false }).compile(schema);
    for (const block of of('yaml')) {
      for (const document of parseAllDocuments(block.code))
        expect([nameOf(block), document.errors]).toEqual([nameOf(block), []]);
      const values = parse(block.code);
      if (OF_OTHERS.some((key) => key in values)) continue;
      if (block.page === 'docs/kubernetes.md') {
        isValid({ baseUrl: 'https://signalbox.example.com', existingSecret: 'signalbox', ...values });
        expect([nameOf(block), isValid.errors]).toEqual([nameOf(block), null]);
      } else expect(block.page).toBe('docs/cli.md');
    }
  });

  it('in shell are free of syntax errors', async () => {
    for (const block of of('sh')) {
      const outcome = exec('bash', ['-n', '-c', block.code]).then(({ stderr }) => stderr);
      await expect(outcome.catch((error: Error) => error.message)).resolves.toBe('');
    }
  });

  it('in shell name scripts, files and tools that exist, with bodies that can be parsed', async () => {
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
    const tools = await read('packages/client/src/openapi.ts');
    for (const { page, code } of of('sh')) {
      // The commands of an example are those of its own package.
      if (!page.startsWith('examples/')) {
        for (const [, name = ''] of code.matchAll(/npm run ([\w:-]+)/g))
          expect([page, name, name in scripts]).toEqual([page, name, true]);
        for (const [path] of code.matchAll(/(?<![\w./-])(?:bench|deploy|docs|examples|scripts|src|test)\/[\w./-]+/g)) {
          await expect(access(join(ROOT, path)).then(() => path)).resolves.toBe(path);
        }
      }
      for (const [, name] of code.matchAll(/call tools\/(\w+)/g)) expect(tools).toContain(`\n    ${name}: {`);
      for (const [, body = ''] of code.matchAll(/ -d '([^']*)'/g)) expect(() => JSON.parse(body)).not.toThrow();
    }
  });
});
