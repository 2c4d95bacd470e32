import { readFile, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.js';
import { type DataFolder, canEnter, isRoot, systemUser } from './data-folder.js';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { failureReason, runProgram, type SystemUser } from './program.js';

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
export async function ownerOfCluster(path: string): Promise<SystemUser | undefined> {
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
