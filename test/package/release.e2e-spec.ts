import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile, type ExecFileException } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { version } from '../../src/core/version.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NEXT = `${Number(version.split('.')[0]) + 7}.0.0`;
const exec = promisify(execFile);

interface Outcome {
  readonly code: number | string | null | undefined;
  readonly output: string;
}

jest.setTimeout(120_000);

let folder: string;
/** A clone of this repository with its uncommitted changes committed, on the branch `main`. */
let clone: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-release-'));
  clone = join(folder, 'clone');
  await exec('git', ['clone', '--quiet', '--no-tags', '--depth', '1', `file://${ROOT}`, clone]);
  const listed = ['ls-files', '--modified', '--others', '--exclude-standard', '--deduplicate'];
  const { stdout } = await exec('git', listed, { cwd: ROOT });
  for (const path of stdout.split('\n').filter((each) => each !== '')) {
    await cp(join(ROOT, path), join(clone, path)).catch(() => rm(join(clone, path), { force: true }));
  }
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  await writeFile(join(clone, '.git/info/exclude'), 'node_modules\n');
  await git('config', 'user.name', 'Test');
  await git('config', 'user.email', 'test@example.com');
  await git('checkout', '--quiet', '-B', 'main');
  await git('add', '--all');
  await git('commit', '--quiet', '--allow-empty', '--message', 'test: add what is not committed');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function git(...args: string[]): Promise<string> {
  return (await exec('git', args, { cwd: clone })).stdout.trim();
}

async function release(...args: string[]): Promise<Outcome> {
  const script = join(clone, 'scripts/release.mjs');
  return exec(process.execPath, [script, ...args], { cwd: clone }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: ExecFileException & { stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  );
}

const read = (path: string): Promise<string> => readFile(join(clone, path), 'utf8');

describe('npm run release', () => {
  it.each([
    ['a word for a version', 'latest', /Usage/],
    ['an older version', '0.0.1', /older than/],
  ])('refuses %s', async (_, wanted, reason) => {
    const { code, output } = await release(wanted, '--confirm', '--skip-check', '--skip-files');
    expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(reason) });
  });

  it('refuses a checkout with changes, and another branch', async () => {
    const flags = [NEXT, '--confirm', '--skip-check', '--skip-files'];
    await writeFile(join(clone, 'notes.txt'), 'Not committed.');
    expect((await release(...flags)).output).toContain('?? notes.txt');
    await rm(join(clone, 'notes.txt'));
    await git('checkout', '--quiet', '-b', 'feature');
    expect((await release(...flags)).output).toContain('Release from main: this is feature.');
    await git('checkout', '--quiet', 'main');
    await git('branch', '--quiet', '--delete', 'feature');
    expect(await git('tag', '--list')).toBe('');
  });

  it('restores the sources when the commit is refused', async () => {
    const hook = join(clone, '.git/hooks/pre-commit');
    await writeFile(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    expect((await release(NEXT, '--confirm', '--skip-check', '--skip-files')).code).toBe(1);
    await rm(hook);
    expect([await git('status', '--porcelain'), await git('tag', '--list')]).toEqual(['', '']);
  });

  it('shows what it would change, and changes nothing, without --confirm', async () => {
    const head = await git('rev-parse', 'HEAD');
    const { code, output } = await release(NEXT, '--skip-check', '--skip-files');
    expect(code).toBe(0);
    expect(output).toContain(`package.json: "version": "${NEXT}",`);
    expect(output).toContain(`CHANGELOG.md: ## [${NEXT}]`);
    expect(output).toContain('SKIPPED: npm run check.');
    expect(output).toContain('SKIPPED: packages and bill of materials.');
    expect([await git('status', '--porcelain'), await git('tag', '--list')]).toEqual(['', '']);
    expect(await git('rev-parse', 'HEAD')).toBe(head);
  });

  it('commits and tags the version in every file that names it', async () => {
    const before = await read('CHANGELOG.md');
    const { code, output } = await release(NEXT, '--confirm', '--skip-check', '--skip-files');
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining(`tagged v${NEXT}`) });

    expect(await git('status', '--porcelain')).toBe('');
    expect(await git('log', '-1', '--format=%s')).toBe(`chore(release): set the version to ${NEXT}`);
    const lock = JSON.parse(await read('package-lock.json'));
    const manifests = ['package.json', 'packages/client/package.json'].map(async (path) =>
      JSON.parse(await read(path)),
    );
    const versions = [...(await Promise.all(manifests)), lock, lock.packages['']].map((manifest) => manifest.version);
    expect(versions).toEqual([NEXT, NEXT, NEXT, NEXT]);
    expect(await read('clients/python/pyproject.toml')).toContain(`\nversion = "${NEXT}"\n`);
    expect(await read('deploy/helm/signalbox/Chart.yaml')).toContain(`\nversion: ${NEXT}\nappVersion: ${NEXT}\n`);
    const pattern = `(signalbox[^ ]*|version[^ ]*) ?"?${version.replaceAll('.', '\\.')}`;
    const left = await git('grep', '-lE', pattern, '--', '.', ':!package-lock.json', ':!CHANGELOG.md').catch(() => '');
    expect(left).toBe('');

    const changelog = await read('CHANGELOG.md');
    const section = new RegExp(`\n## \\[Unreleased\\]\n\n## \\[${NEXT}\\] - \\d{4}-\\d\\d-\\d\\d\n\n### `);
    expect(changelog).toMatch(section);
    const lines = changelog.split('\n');
    expect(before.split('\n').filter((line) => !lines.includes(line))).toEqual([]);

    expect(await git('cat-file', '-t', `v${NEXT}`)).toBe('tag');
    const message = await git('tag', '--list', '--format=%(contents)', `v${NEXT}`);
    expect(message).toMatch(new RegExp(`^Signalbox ${NEXT}\n\n### Added\n`));
    expect(message).toContain('Skipped: npm run check.\n\nSkipped: packages and bill of materials.');
  });

  it('refuses an empty section of the changelog, and a version that exists', async () => {
    const flags = ['--confirm', '--skip-check', '--skip-files'];
    expect((await release(NEXT, ...flags)).output).toContain(`v${NEXT} exists already.`);
    expect((await release(`${NEXT}-rc.1`, ...flags)).output).toContain('"Unreleased" of CHANGELOG.md is empty');
  });
});

describe('npm run release:files', () => {
  it('refuses a package with another file', async () => {
    const lib = join(clone, 'packages/client/lib');
    await mkdir(lib, { recursive: true });
    await writeFile(join(lib, 'secret.pem'), 'not a key');
    const made = exec(process.execPath, ['scripts/release-files.mjs', join(folder, 'refused')], { cwd: clone });
    await expect(made).rejects.toThrow('lib/secret.pem is not allowed');
  });
});
