import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { isRoot } from './system-user.js';

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
