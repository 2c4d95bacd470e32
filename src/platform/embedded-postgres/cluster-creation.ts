import { randomUUID } from 'node:crypto';
import { lchown, mkdir, readdir, rename, rm, rmdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Binaries } from './binaries.js';
import { ensureFolder, type DataFolder, canEnter } from './data-folder.js';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { isAlive } from './postmaster.js';
import { failureReason, runProgram, type SystemUser } from './program.js';
import { clustersFolder } from './shared-clusters.js';

interface NewCluster {
  folder: DataFolder;
  user: SystemUser | undefined;
  binaries: Binaries;
  password: string;
  /** Holds the cluster when `user` cannot enter the data folder. */
  sharedRoot: string;
  log: (line: string) => void;
}

/** Initial settings of a new cluster. The operator can change them in its `postgresql.conf`. */
const INITIAL_SETTINGS = { max_connections: '200', shared_buffers: '128MB', timezone: 'UTC', log_timezone: 'UTC' };

/**
 * Creates the cluster of a data folder. `initdb` works under a temporary name, so that `<dataDir>/postgres` is complete
 * as soon as it exists. When two processes create it concurrently, the second discards its work.
 */
export async function createCluster(cluster: NewCluster): Promise<void> {
  const { folder, user, binaries, sharedRoot, log } = cluster;
  if (!user || (await canEnter(user, folder.root))) {
    log(`Creating a PostgreSQL ${binaries.major} cluster in ${folder.cluster}.`);
    await initialize(folder.cluster, cluster);
    return;
  }
  const elsewhere = join(clustersFolder(sharedRoot), randomUUID());
  log(
    `The user ${user.name} cannot enter ${folder.root}. Creating the cluster in ${elsewhere}, with a link at ` +
      `${folder.cluster}. A later start removes it when the data folder was deleted.`,
  );
  for (const parent of [sharedRoot, dirname(elsewhere)]) await ensureFolder(parent, 0o755);
  await initialize(elsewhere, cluster);
  // Replace an empty folder at the link's path, as `rename` does above.
  await rmdir(folder.cluster).catch(() => undefined);
  const isLinked = await unlessTaken(symlink(elsewhere, folder.cluster));
  if (!isLinked) await rm(elsewhere, { recursive: true });
}

async function initialize(target: string, { user, binaries, password }: NewCluster): Promise<void> {
  await removeLeftovers(dirname(target));
  const unfinished = `${target}.new-${process.pid}-${randomUUID()}`;
  const passwordFile = `${unfinished}.password`;
  try {
    await mkdir(unfinished, { mode: 0o700 });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
    if (user) await Promise.all([unfinished, passwordFile].map((path) => lchown(path, user.uid, user.gid)));
    const { succeeded, output } = await runProgram(binaries.initdb, initdbArguments(unfinished, passwordFile), user);
    if (!succeeded) {
      throw new EmbeddedPostgresError(`PostgreSQL could not create a cluster in ${target}: ${failureReason(output)}.`);
    }
    await unlessTaken(rename(unfinished, target));
  } finally {
    await rm(passwordFile, { force: true });
    await rm(unfinished, { recursive: true, force: true });
  }
}

function initdbArguments(folder: string, passwordFile: string): string[] {
  const settings = Object.entries(INITIAL_SETTINGS).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const access = ['--username=postgres', '--auth=scram-sha-256', '--pwfile', passwordFile];
  // The builtin provider sorts by code point, independent of the system's C library.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  return ['--pgdata', folder, ...access, ...locale, ...settings];
}

/** Removes the unfinished clusters of processes that no longer run. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/\.new-(\d+)-/.exec(name)?.[1]);
    if (!pid) continue;
    const path = join(parent, name);
    if (pid === process.pid ? await isOlderThanThisProcess(path) : !isAlive(pid)) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

/** In a container, every start can have the same process id. */
async function isOlderThanThisProcess(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && found.mtimeMs < performance.timeOrigin;
}

/** Returns false if another process took the final name first. */
async function unlessTaken(step: Promise<void>): Promise<boolean> {
  try {
    await step;
    return true;
  } catch (error) {
    if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}
