import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { runProgram, type SystemUser } from './program.js';

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
