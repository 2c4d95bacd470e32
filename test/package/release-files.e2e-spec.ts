import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { version } from '../../src/common/version.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SUITE = join(ROOT, 'examples/qa-suite');
/** Covers a build with declarations, an installation of some 300 packages, and the suites. */
const TIMEOUT_MS = 600_000;

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

/** The required version of Node comes first in PATH. The suite gets no other environment variables than these. */
const ENVIRONMENT = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, HOME: process.env['HOME'] };
/** npm has the settings of this machine, such as certificates. */
const OF_MACHINE = { ...process.env, ...ENVIRONMENT };

async function run(cwd: string, env: NodeJS.ProcessEnv, program: string, ...args: string[]): Promise<string> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${output}`);
  return output;
}

it(
  'npm run release:files makes packages with the allowed files only, the chart, the bill of materials, and checksums',
  async () => {
    const output = await run(ROOT, ENVIRONMENT, 'npm', 'run', 'release:files', '--', release);
    expect(output).toMatch(/signalbox-\S+\.tgz: \d{4} files, all allowed/);
    expect((await readdir(release)).toSorted()).toEqual([
      'SHA256SUMS',
      `signalbox-${version}.cdx.json`,
      `signalbox-${version}.tgz`,
      `signalbox-chart-${version}.tgz`,
      `signalbox-client-${version}.tgz`,
    ]);
    expect(
      (await run(release, ENVIRONMENT, 'sha256sum', '--check', '--strict', 'SHA256SUMS')).match(/: OK$/gm),
    ).toHaveLength(4);
    const chart = await run(release, ENVIRONMENT, 'tar', '-tzf', `signalbox-chart-${version}.tgz`);
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
    await run(folder, OF_MACHINE, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund');
    const output = await run(folder, ENVIRONMENT, 'npm', 'test');
    expect(output).toMatch(/^\S+ pass [1-9]/m);
    expect(output).toMatch(/^\S+ fail 0$/m);
  },
  TIMEOUT_MS,
);
