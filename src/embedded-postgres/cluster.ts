import { readFile, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.js';
import type { DataFolder } from './data-folder.js';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { failureReason, runProgram, type SystemUser } from './program.js';
import { canEnter, isRoot, systemUser } from './system-user.js';

/** A PostgreSQL cluster on disk, and all that is needed to start its server. */
export interface Cluster {
  /** Real path: the server's command line shows the same. */
  folder: string;
  dataDir: string;
  logFile: string;
  /** Who owns the files and runs the server; undefined: this process's user. */
  user: SystemUser | undefined;
  binaries: Binaries;
}

/**
 * The real path of the cluster in the data folder; undefined if there is none yet.
 * @throws EmbeddedPostgresError if something else stands there, or a cluster of another major version
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
    throw new EmbeddedPostgresError(`The folder ${path} is not empty and holds no PostgreSQL cluster: move it away.`);
  }
  if (Number(version) !== major) {
    throw new EmbeddedPostgresError(
      `The cluster ${path} is of PostgreSQL ${version.trim()}, but this service brings PostgreSQL ${major}: dump it with the old version and restore it, or choose another DATA_DIR.`,
    );
  }
  return path;
}

/**
 * The user for the server of an existing cluster: PostgreSQL demands that the files are its own. Files of root (a
 * restored backup, say) are first given to the system user.
 */
export async function ownerOfCluster(path: string): Promise<SystemUser | undefined> {
  const { uid, gid } = await stat(path);
  if (!isRoot()) {
    if (uid === process.getuid?.()) return undefined;
    throw foreignCluster(path);
  }
  const user = uid === 0 ? await systemUser() : { name: `with id ${uid}`, uid, gid };
  if (uid === 0) await giveFiles(path, user);
  if (await canEnter(user, path)) return user;
  throw new EmbeddedPostgresError(
    `The user ${user.name}, who owns the cluster ${path}, cannot enter the folders above it: allow that (chmod o+x), or choose another DATA_DIR.`,
  );
}

async function resolveCluster(folder: DataFolder): Promise<string | undefined> {
  const entries = await readdir(folder.root);
  if (!entries.includes('postgres')) return undefined;
  return realpath(folder.cluster).catch((cause: unknown) => {
    if (errorCode(cause) !== 'ENOENT') throw cause;
    throw new EmbeddedPostgresError(
      `${folder.cluster} is a symbolic link to a cluster that does not exist any more: restore it, or remove the link to begin afresh.`,
      { cause },
    );
  });
}

async function giveFiles(path: string, user: SystemUser): Promise<void> {
  const { succeeded, output } = await runProgram('chown', ['-R', `${user.uid}:${user.gid}`, path]);
  if (succeeded) return;
  throw new EmbeddedPostgresError(`The cluster ${path} cannot be given to ${user.name}: ${failureReason(output)}.`);
}

function foreignCluster(path: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The cluster ${path} belongs to another user: start the service as that user, or choose another DATA_DIR.`,
  );
}
