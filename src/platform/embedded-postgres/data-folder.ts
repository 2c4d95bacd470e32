import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { runProgram, type SystemUser } from './program.js';

/** The embedded PostgreSQL's paths below DATA_DIR. All paths are absolute and free of symbolic links. */
export interface DataFolder {
  root: string;
  /** The cluster, or a symbolic link to it when the system user cannot enter `root`. */
  cluster: string;
  passwordFile: string;
  logFile: string;
}

/** Creates the data folder if it is missing. */
export async function openDataFolder(dataDir: string): Promise<DataFolder> {
  const wanted = resolve(dataDir);
  // When this process is root, PostgreSQL's system user must be able to enter. Each file inside restricts its own
  // access.
  const mode = isRoot() ? 0o711 : 0o700;
  await ensureFolder(wanted, mode);
  return dataFolderAt(await realpath(wanted));
}

/** Creates the folder and its parents if missing. A created folder has `mode`, regardless of the umask. */
export async function ensureFolder(path: string, mode: number): Promise<void> {
  if (await mkdir(path, { recursive: true, mode })) await chmod(path, mode);
}

/** The data folder, or undefined if it does not exist. */
export async function findDataFolder(dataDir: string): Promise<DataFolder | undefined> {
  try {
    return dataFolderAt(await realpath(resolve(dataDir)));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The superuser's password: letters, digits, `-` and `_`. */
export async function readPassword({ passwordFile, cluster }: DataFolder): Promise<string> {
  const password = await readFile(passwordFile, 'utf8').catch((cause: unknown) => {
    if (errorCode(cause) !== 'ENOENT') throw cause;
    throw new EmbeddedPostgresError(
      `The file ${passwordFile} is missing. It holds the password of the cluster ${cluster}: restore it, or move ` +
        'the cluster away to start with a new one.',
      { cause },
    );
  });
  const { mode } = await stat(passwordFile);
  if (mode & 0o077) await chmod(passwordFile, 0o600);
  return password.trim();
}

/** Like `readPassword`, but creates a missing file first. Concurrent processes get the same password. */
export async function readOrCreatePassword(folder: DataFolder): Promise<string> {
  const unfinished = `${folder.passwordFile}.${randomUUID()}`;
  try {
    const password = randomBytes(32).toString('base64url');
    await writeFile(unfinished, `${password}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await link(unfinished, folder.passwordFile).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
  } finally {
    await rm(unfinished, { force: true });
  }
  return readPassword(folder);
}

function dataFolderAt(root: string): DataFolder {
  return {
    root,
    cluster: join(root, 'postgres'),
    passwordFile: join(root, 'postgres.password'),
    logFile: join(root, 'postgres.log'),
  };
}

/** PostgreSQL refuses to run as root. Any other user can run it. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The account for a new cluster: the system user if this process is root, otherwise undefined (this process's user).
 */
export async function chooseUser(): Promise<SystemUser | undefined> {
  return isRoot() ? systemUser() : undefined;
}

/** The account that runs PostgreSQL on behalf of root: `postgres`, created if necessary, otherwise `nobody`. */
export async function systemUser(): Promise<SystemUser> {
  const user = (await findUser('postgres')) ?? (await createUser('postgres')) ?? (await findUser('nobody'));
  if (user) return user;
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and the system user "postgres" neither exists nor can be created. Start the ' +
      'service as another user, or set DATABASE_URL.',
  );
}

/** Whether `user` can enter `folder` and all its parents. */
export async function canEnter(user: SystemUser, folder: string): Promise<boolean> {
  const { succeeded } = await runProgram('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], user);
  return succeeded;
}

async function findUser(name: string): Promise<SystemUser | undefined> {
  const [uid, gid] = await Promise.all([runProgram('id', ['-u', name]), runProgram('id', ['-g', name])]);
  if (!uid.succeeded || !gid.succeeded) return undefined;
  return { name, uid: Number(uid.output), gid: Number(gid.output) };
}

async function createUser(name: string): Promise<SystemUser | undefined> {
  const withShadow = await runProgram('useradd', ['--system', '--user-group', '--no-create-home', name]);
  if (!withShadow.succeeded) await runProgram('adduser', ['-S', '-D', '-H', name]); // BusyBox
  return findUser(name);
}
