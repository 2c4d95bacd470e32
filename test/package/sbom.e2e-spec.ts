import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly purl: string;
  readonly properties: readonly { readonly name: string; readonly value: string }[];
}

interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

let folder: string;
let text: string;
let bill: Bill;
let lock: Readonly<Record<string, Locked>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-sbom-'));
  const file = join(folder, 'bill.json');
  await promisify(execFile)(process.execPath, ['scripts/sbom.mjs', file], { cwd: ROOT });
  text = await readFile(file, 'utf8');
  bill = JSON.parse(text);
  lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')).packages;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const rootOf = (): Locked => lock[''] as Locked;
const references = (): Set<string> => new Set(bill.components.map((component) => component['bom-ref']));

/** The path of the package that `name` means to the package at `path`, as Node.js looks it up. */
function resolve(name: string, path: string): string | undefined {
  const inside = `${path === '' ? '' : `${path}/`}node_modules/${name}`;
  if (lock[inside] !== undefined) return inside;
  return path === '' ? undefined : resolve(name, path.slice(0, Math.max(path.lastIndexOf('/node_modules/'), 0)));
}

/** What these packages need, with themselves, as `name@version`. Follows the declarations, not the marks of npm. */
function neededBy(names: readonly string[]): Set<string> {
  const paths = new Set<string>();
  const visit = (wanted: readonly string[], from: string): void => {
    for (const name of wanted) {
      const path = resolve(name, from);
      if (path === undefined) throw new Error(`${name}, which ${from} needs, is not in the lock.`);
      if (paths.has(path)) continue;
      paths.add(path);
      const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = lock[path] as Locked;
      const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
      visit([...Object.keys(dependencies), ...peers], path);
    }
  };
  visit(names, '');
  return new Set([...paths].map((path) => `${path.split('node_modules/').at(-1)}@${lock[path]?.version}`));
}

/** The packages whose code the sources of the console import. */
async function importedByConsole(): Promise<string[]> {
  const files = await readdir(join(ROOT, 'web/src'), { recursive: true });
  const sources = await Promise.all(
    files.filter((name) => /\.(tsx?|css)$/.test(name)).map((name) => readFile(join(ROOT, 'web/src', name), 'utf8')),
  );
  return Object.keys(rootOf().devDependencies ?? {}).filter((name) =>
    sources.some((source) => new RegExp(`(?:from|import|import\\() ?'${name}['/]`).test(source)),
  );
}

describe('npm run sbom', () => {
  it('describes this version as CycloneDX', () => {
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'signalbox' } } });
    expect(bill.metadata.component.version).toBe(rootOf().version);
  });

  it('contains every package that production needs', () => {
    const names = Object.keys(rootOf().dependencies ?? {});
    expect(names).toContain('fastify');
    const found = references();
    expect([...neededBy(names)].filter((reference) => !found.has(reference))).toEqual([]);
    expect(bill.components.map(({ name }) => name)).toContain('zod');
  });

  it('contains what is part of the console, marked as bundled', async () => {
    const bundled = bill.components.filter(({ properties }) =>
      properties.some(({ name }) => name === 'signalbox:bundled'),
    );
    const names = ['react', 'react-dom', 'streamdown', 'recharts', '@ai-sdk/react'];
    expect(bundled.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    const known = neededBy([...Object.keys(rootOf().dependencies ?? {}), ...(await importedByConsole())]);
    expect(bundled.filter((component) => !known.has(component['bom-ref']))).toEqual([]);
  });

  it('contains no package that only development needs', async () => {
    const shipped = neededBy([...Object.keys(rootOf().dependencies ?? {}), ...(await importedByConsole())]);
    const ofDevelopment = Object.entries(rootOf().devDependencies ?? {}).filter(
      ([name, version]) => !shipped.has(`${name}@${version}`),
    );
    expect(ofDevelopment.map(([name]) => name)).toEqual(expect.arrayContaining(['jest', 'typescript', 'vite']));
    const found = ofDevelopment.filter(([name, version]) => references().has(`${name}@${version}`));
    expect(found).toEqual([]);
  });

  it('refers only to its own components, and to no registry', () => {
    const known = references().add(`signalbox@${rootOf().version}`);
    const referred = new Set(bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]));
    expect([...referred].filter((reference) => !known.has(reference))).toEqual([]);
    const addresses = text.match(/https?:\/\/[^/"]+/g) ?? [];
    expect([...new Set(addresses)]).toEqual(['http://cyclonedx.org']);
    expect(bill.components.filter(({ purl }) => !/^pkg:npm\/[^?]+@[^?]+$/.test(purl))).toEqual([]);
  });
});
