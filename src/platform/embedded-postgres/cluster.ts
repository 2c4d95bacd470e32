import {
  readFile,
  readdir,
  realpath,
  stat,
  lchown,
  mkdir,
  rename,
  rm,
  rmdir,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Binaries } from './binaries.js';
import { type DataFolder, canEnter, isRoot, systemUser, ensureFolder } from './data-folder.js';
import { EmbeddedPostgresError, errorCode, errorMessage } from './embedded-postgres-error.js';
import { failureReason, runProgram, type SystemUser } from './program.js';
import { isAlive, findPostmaster } from './postmaster.js';

/** A PostgreSQL cluster on disk, with everything needed to start its server. */
export interface Cluster {
  /** Real path, as the server's command line shows it. */
  folder: string;
  dataDir: string;
  logFile: string;
  /** Owner of the files and of the server process; undefined: this process's user. */
  user: SystemUser | undefined;
  binaries: Binaries;
}

/**
 * The real path of the cluster in the data folder, or undefined if it does not exist yet.
 * @throws EmbeddedPostgresError if the path holds something else, or a cluster of another major version
 */
export async function findClusterFolder(folder: DataFolder, major: number): Promise<string | undefined> {
  const path = await resolveCluster(folder);
  if (!path) return undefined;
  const version = await readFile(join(path, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'EACCES') throw foreignCluster(path);
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  if (version === undefined) {
    if ((await readdir(path)).length === 0) return undefined;
    throw new EmbeddedPostgresError(`The folder ${path} is not empty and is not a PostgreSQL cluster. Move it away.`);
  }
  if (Number(version) !== major) {
    throw new EmbeddedPostgresError(
      `The cluster ${path} was created by PostgreSQL ${version.trim()}, but this service uses PostgreSQL ${major}. ` +
        'Dump it with the old version and restore it, or choose another DATA_DIR.',
    );
  }
  return path;
}

/**
 * The user for the server of an existing cluster. PostgreSQL must own its files, so files that belong to root (a
 * restored backup, for example) are first handed to the system user.
 */
export async function userOfCluster(path: string): Promise<SystemUser | undefined> {
  const { uid, gid } = await stat(path);
  if (!isRoot()) {
    if (uid === process.getuid?.()) return undefined;
    throw foreignCluster(path);
  }
  const user = uid === 0 ? await systemUser() : { name: `with id ${uid}`, uid, gid };
  if (uid === 0) await changeOwner(path, user);
  if (await canEnter(user, path)) return user;
  throw new EmbeddedPostgresError(
    `The user ${user.name} owns the cluster ${path} but cannot enter its parent folders. Allow it (chmod o+x), or ` +
      'choose another DATA_DIR.',
  );
}

async function resolveCluster(folder: DataFolder): Promise<string | undefined> {
  const entries = await readdir(folder.root);
  if (!entries.includes('postgres')) return undefined;
  return realpath(folder.cluster).catch((cause: unknown) => {
    if (errorCode(cause) !== 'ENOENT') throw cause;
    throw new EmbeddedPostgresError(
      `${folder.cluster} is a symbolic link to a cluster that no longer exists. Restore the cluster, or remove the ` +
        'link to start with a new one.',
      { cause },
    );
  });
}

async function changeOwner(path: string, user: SystemUser): Promise<void> {
  const { succeeded, output } = await runProgram('chown', ['-R', `${user.uid}:${user.gid}`, path]);
  if (succeeded) return;
  throw new EmbeddedPostgresError(
    `Cannot change the owner of the cluster ${path} to ${user.name}: ${failureReason(output)}.`,
  );
}

function foreignCluster(path: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The cluster ${path} belongs to another user. Start the service as that user, or choose another DATA_DIR.`,
  );
}

/** The file next to a cluster that says whose it is. PostgreSQL's user can write only in the cluster itself. */
const ORIGIN_SUFFIX = '.owner.json';

/** The data folder of a cluster that is elsewhere. */
interface ClusterOrigin {
  readonly dataFolder: string;
  /** The file system of the data folder. A folder that is away with its file system is not deleted. */
  readonly device: number;
}

/** The folder below the shared root that has the clusters which their user cannot reach in their data folders. */
function clustersFolder(sharedRoot: string): string {
  return join(sharedRoot, 'clusters');
}

/** Notes in a cluster below `sharedRoot` to which data folder it belongs. */
export async function noteDataFolder(cluster: string, dataFolder: string, sharedRoot: string): Promise<void> {
  if (dirname(cluster) !== clustersFolder(sharedRoot)) return;
  const origin: ClusterOrigin = { dataFolder, device: (await stat(dataFolder)).dev };
  await writeFile(`${cluster}${ORIGIN_SUFFIX}`, JSON.stringify(origin));
}

/**
 * Removes the clusters below `sharedRoot` whose data folders were deleted. Keeps those that run, those that do not name
 * their data folder, and those whose file system is not mounted. Never rejects: the start of a service does not depend
 * on it.
 */
export async function removeAbandonedClusters(sharedRoot: string, log: (line: string) => void): Promise<void> {
  const folder = clustersFolder(sharedRoot);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith(ORIGIN_SUFFIX)) continue;
    const cluster = join(folder, name.slice(0, -ORIGIN_SUFFIX.length));
    try {
      const dataFolder = await deletedDataFolder(cluster);
      if (dataFolder === undefined || (await findPostmaster(cluster, 0)) !== undefined) continue;
      await rm(cluster, { recursive: true, force: true });
      await rm(`${cluster}${ORIGIN_SUFFIX}`, { force: true });
      log(`Removed the cluster ${cluster}: its data folder ${dataFolder} was deleted.`);
    } catch (error) {
      log(`The cluster ${cluster} of a deleted data folder stays: ${errorMessage(error)}`);
    }
  }
}

/** The data folder of a cluster if it was deleted; undefined if it exists, or may exist. */
async function deletedDataFolder(cluster: string): Promise<string | undefined> {
  const { dataFolder, device } = JSON.parse(await readFile(`${cluster}${ORIGIN_SUFFIX}`, 'utf8')) as ClusterOrigin;
  if (await exists(dataFolder)) return undefined;
  return (await deviceAbove(dataFolder)) === device ? dataFolder : undefined;
}

/** The file system of the closest folder above a path that exists. */
async function deviceAbove(path: string): Promise<number> {
  const parent = dirname(path);
  return (await exists(parent)) ? (await stat(parent)).dev : deviceAbove(parent);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

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
