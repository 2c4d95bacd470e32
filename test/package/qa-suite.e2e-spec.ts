import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npm } from './npm.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SUITE = join(ROOT, 'examples/qa-suite');
/** Covers a build with declarations, an installation of some 300 packages, and the suites. */
const TIMEOUT_MS = 900_000;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-qa-'));
  // Excludes files that a manual installation has left there.
  const isSource = (path: string): boolean => !['node_modules', 'package-lock.json'].includes(basename(path));
  await cp(SUITE, folder, { recursive: true, filter: (path) => isSource(path) && !path.endsWith('.tgz') });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it(
  'the QA suite passes outside the repository, with the package installed by npm',
  async () => {
    await npm(ROOT, ['pack', '--pack-destination', folder]);
    expect((await readdir(folder)).filter((name) => name.endsWith('.tgz'))).toEqual(['signalbox-0.1.0.tgz']);
    await npm(folder, ['install', '--prefer-offline', '--no-audit', '--no-fund']);
    const output = await npm(folder, ['test']);
    expect(output).toMatch(/^\S+ pass [1-9]/m);
    expect(output).toMatch(/^\S+ fail 0$/m);
  },
  TIMEOUT_MS,
);
