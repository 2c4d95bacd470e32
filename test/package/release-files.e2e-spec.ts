import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { version } from '../../src/core/version.js';
import { outputOf } from '../support/program.js';
import { COMPILED } from '../support/service-process.js';
import { npm } from './npm.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SUITE = join(ROOT, 'examples/qa-suite');
/** Covers a build with declarations, an installation of some 300 packages, and the suites. */
const TIMEOUT_MS = 900_000;

let folder: string;
let release: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-qa-'));
  release = await mkdtemp(join(tmpdir(), 'signalbox-release-files-'));
  // Excludes files that a manual installation has left there.
  const isSource = (path: string): boolean => !['node_modules', 'package-lock.json'].includes(basename(path));
  await cp(SUITE, folder, { recursive: true, filter: (path) => isSource(path) && !path.endsWith('.tgz') });
});

afterAll(async () => {
  for (const path of [folder, release]) await rm(path, { recursive: true, force: true });
});

it(
  'npm run release:files makes packages with the allowed files only, the chart, the bill of materials, and checksums',
  async () => {
    const output = await npm(ROOT, ['run', 'release:files', '--', release]);
    expect(output).toMatch(/signalbox-\S+\.tgz: \d{4} files, all allowed/);
    expect((await readdir(release)).toSorted()).toEqual([
      'SHA256SUMS',
      `signalbox-${version}.cdx.json`,
      `signalbox-${version}.tgz`,
      `signalbox-chart-${version}.tgz`,
      `signalbox-client-${version}.tgz`,
    ]);
    expect(
      (await outputOf('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release })).match(/: OK$/gm),
    ).toHaveLength(4);
    const chart = await outputOf('tar', ['-tzf', `signalbox-chart-${version}.tgz`], { cwd: release });
    expect(chart.split('\n')).toEqual(expect.arrayContaining(['signalbox/Chart.yaml', 'signalbox/values.yaml']));
    expect(JSON.parse(await readFile(join(release, `signalbox-${version}.cdx.json`), 'utf8')).bomFormat).toBe(
      'CycloneDX',
    );
  },
  TIMEOUT_MS,
);

it(
  'the QA suite passes outside the repository, with the package installed by npm',
  async () => {
    const packed = `signalbox-${version}.tgz`;
    await cp(join(release, packed), join(folder, packed));
    await npm(folder, ['install', '--prefer-offline', '--no-audit', '--no-fund']);
    const output = await npm(folder, ['test'], { NODE_COMPILE_CACHE: COMPILED });
    expect(output).toMatch(/^\S+ pass [1-9]/m);
    expect(output).toMatch(/^\S+ fail 0$/m);
  },
  TIMEOUT_MS,
);
