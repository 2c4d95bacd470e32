import { readFileSync } from 'node:fs';
import { readFile, readlink, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { runProgram } from './program.js';

/** The main process of a running server, as described by its cluster's `postmaster.pid`. */
interface Postmaster {
  pid: number;
  port: number;
  /** `starting` includes crash recovery. */
  status: 'starting' | 'ready' | 'stopping';
}

const POLL_MS = 20;
const GRACE_MS = 30_000;

/**
 * The server that runs on the cluster, or undefined. Waits while a server is starting or stopping.
 * @param deadline milliseconds as `Date.now()`
 */
export async function findPostmaster(folder: string, deadline: number): Promise<Postmaster | undefined> {
  for (;;) {
    const postmaster = await readLockFile(folder);
    if (!postmaster || !(await isPostmasterOf(postmaster.pid, folder))) return undefined;
    if (postmaster.status === 'ready') return postmaster;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The PostgreSQL server of ${folder} (process id ${postmaster.pid}) is still ${postmaster.status}. Wait for ` +
          'it, then start the service again.',
      );
    }
    await sleep(POLL_MS);
  }
}

/**
 * Removes a lock file whose process id now belongs to another program: PostgreSQL would mistake that program for a
 * server and refuse to start. If a server runs nevertheless, its shared memory prevents a second one.
 */
export async function removeStaleLockFile(folder: string): Promise<void> {
  const named = await readLockFile(folder);
  if (named && isAlive(named.pid) && !(await isPostmasterOf(named.pid, folder))) {
    await rm(join(folder, 'postmaster.pid'), { force: true });
  }
}

/** Reads `postmaster.pid`. Undefined if the file is missing or incomplete. */
export async function readLockFile(folder: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  return parseLockFile(text ?? '');
}

function parseLockFile(text: string): Postmaster | undefined {
  // Lines: process id, data folder, start time, port, socket folder, listen address, shared memory key, status
  // (src/include/utils/pidfile.h).
  const [pid, , , port, , , , status] = text.split('\n');
  if (!Number(pid)) return undefined;
  return { pid: Number(pid), port: Number(port ?? 0), status: parseStatus(status?.trim()) };
}

/** Stops the server and waits for its end. Requests a fast shutdown, and after 30 seconds an immediate one. */
export async function stopPostmaster(folder: string): Promise<void> {
  const postmaster = await readLockFile(folder);
  if (!postmaster || !(await isPostmasterOf(postmaster.pid, folder))) return;
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    sendSignal(postmaster.pid, signal);
    if (await postmasterEndsWithin(postmaster.pid, folder, GRACE_MS)) return;
  }
  throw new EmbeddedPostgresError(`The PostgreSQL server of ${folder} (process id ${postmaster.pid}) did not stop.`);
}

/** Waits until the server of this cluster has ended. False if it still runs after `milliseconds`. */
export async function postmasterEndsWithin(pid: number, folder: string, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  while (Date.now() < deadline) {
    if (!(await isPostmasterOf(pid, folder))) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Requests a fast shutdown, which the server completes alone: for the end of this process, which cannot wait. */
export function endPostmaster(folder: string): void {
  try {
    const { pid } = parseLockFile(readFileSync(join(folder, 'postmaster.pid'), 'utf8')) ?? {};
    if (pid !== undefined) sendSignal(pid, 'SIGINT');
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/** Whether a process with this id exists, regardless of its owner. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Whether the process is the main process of this cluster's server. Children and zombies are not. */
export async function isPostmasterOf(pid: number, folder: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    const { output } = await runProgram('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
    return output.includes(`/postgres -D ${folder}`);
  }
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const [program, ...args] = command.split('\0');
  if (basename(program ?? '') !== 'postgres') return false;
  if (args.includes(folder)) return true;
  // The server was started manually, or its folder was moved: compare its working folder, if that is readable.
  return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === folder;
}

function parseStatus(status: string | undefined): Postmaster['status'] {
  if (status === 'ready' || status === 'standby') return 'ready';
  return status === 'stopping' ? 'stopping' : 'starting';
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
