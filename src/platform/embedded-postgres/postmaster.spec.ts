import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostmaster, isAlive, isPostmasterOf, readLockFile, removeStaleLockFile } from './postmaster.js';

let folder: string;
let lockFile: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postmaster-'));
  lockFile = join(folder, 'postmaster.pid');
});

afterEach(() => rm(folder, { recursive: true }));

function lines(pid: number, status: string): string {
  return [pid, folder, 1_700_000_000, 40_001, '', '127.0.0.1', ' 1048612  3', status].join('\n');
}

describe('readLockFile', () => {
  it('returns undefined when no server runs', async () => {
    expect(await readLockFile(folder)).toBeUndefined();
  });

  it.each([
    ['ready   ', 'ready'],
    ['standby ', 'ready'],
    ['starting', 'starting'],
    ['stopping', 'stopping'],
    ['', 'starting'],
  ])('reads the status "%s" as %s', async (written, status) => {
    await writeFile(lockFile, lines(4711, written));
    expect(await readLockFile(folder)).toEqual({ pid: 4711, port: 40_001, status });
  });

  it('treats an incomplete file as a starting server', async () => {
    await writeFile(lockFile, `4711\n${folder}\n`);
    expect(await readLockFile(folder)).toEqual({ pid: 4711, port: 0, status: 'starting' });
    await writeFile(lockFile, '');
    expect(await readLockFile(folder)).toBeUndefined();
  });
});

describe('a lock file with the process id of another program', () => {
  it('does not count as a running server and is removed', async () => {
    await writeFile(lockFile, lines(process.pid, 'ready'));
    expect(isAlive(process.pid)).toBe(true);
    expect(await isPostmasterOf(process.pid, folder)).toBe(false);
    expect(await findPostmaster(folder, 0)).toBeUndefined();
    await removeStaleLockFile(folder);
    await expect(access(lockFile)).rejects.toThrow('ENOENT');
  });
});
