import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { runProgram, type SystemUser } from './program.js';

/** PostgreSQL refuses to run as root; everybody else runs it as themselves. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The account for a new cluster; undefined, this process's own, unless that is root. */
export async function chooseUser(): Promise<SystemUser | undefined> {
  return isRoot() ? systemUser() : undefined;
}

/** Who runs PostgreSQL for root: `postgres`, created if need be, else `nobody`. */
export async function systemUser(): Promise<SystemUser> {
  const user = (await findUser('postgres')) ?? (await createUser('postgres')) ?? (await findUser('nobody'));
  if (user) return user;
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and no system user "postgres" exists or can be created: start the service as another user, or set DATABASE_URL.',
  );
}

/** Whether `user` passes every folder on the way to `folder` and may enter it. */
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
