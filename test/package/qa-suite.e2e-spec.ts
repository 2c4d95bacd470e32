import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { version } from '../../src/common/version.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SUITE = join(ROOT, 'examples/qa-suite');
/** Covers a build with declarations, an installation of some 300 packages, and the suites. */
const TIMEOUT_MS = 600_000;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-qa-'));
  // Excludes files that a manual installation has left there.
  const isSource = (path: string): boolean => !['node_modules', 'package-lock.json'].includes(basename(path));
  await cp(SUITE, folder, { recursive: true, filter: (path) => isSource(path) && !path.endsWith('.tgz') });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function npm(cwd: string, ...args: string[]): Promise<string> {
  const child = spawn('npm', args, {
    cwd,
    // The required version of Node comes first in PATH. The suite gets no other environment variables than these.
    env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, HOME: process.env['HOME'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${code}: ${output}`);
  return output;
}

it(
  'the QA suite passes outside the repository, with the package installed by npm',
  async () => {
    await npm(ROOT, 'pack', '--pack-destination', folder);
    expect((await readdir(folder)).filter((name) => name.endsWith('.tgz'))).toEqual([`signalbox-${version}.tgz`]);
    await npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund');
    const output = await npm(folder, 'test');
    expect(output).toMatch(/^\S+ pass [1-9]/m);
    expect(output).toMatch(/^\S+ fail 0$/m);
  },
  TIMEOUT_MS,
);
