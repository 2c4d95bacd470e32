import { readFile, readlink, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { runProgram } from './program.js';

/** A running server's main process, as its cluster's `postmaster.pid` describes it. */
export interface Postmaster {
  pid: number;
  port: number;
  /** `starting` includes crash recovery. */
  status: 'starting' | 'ready' | 'stopping';
}

const POLL_MS = 20;

/**
 * The server that runs on the cluster, waited for while it is starting; undefined if none runs, after waiting for one
 * that is stopping.
 * @param deadline milliseconds as `Date.now()`
 */
export async function findPostmaster(folder: string, deadline: number): Promise<Postmaster | undefined> {
  for (;;) {
    const postmaster = await readLockFile(folder);
    if (!postmaster || !(await isPostmasterOf(postmaster.pid, folder))) return undefined;
    if (postmaster.status === 'ready') return postmaster;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The PostgreSQL server of ${folder} (process id ${postmaster.pid}) is still ${postmaster.status}: wait for it, and start again.`,
      );
    }
    await sleep(POLL_MS);
  }
}

/**
 * Removes a lock file whose process id has gone to another program since: PostgreSQL would take that for a server and not
 * start. Should a server run all the same, its shared memory keeps out a second one.
 */
export async function removeStaleLockFile(folder: string): Promise<void> {
  const named = await readLockFile(folder);
  if (named && isAlive(named.pid) && !(await isPostmasterOf(named.pid, folder))) {
    await rm(join(folder, 'postmaster.pid'), { force: true });
  }
}

/** Reads `postmaster.pid`. Undefined if it is missing or not yet written in full. */
export async function readLockFile(folder: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  // Lines: process id, data folder, start time, port, socket folder, listen address, shared memory key, status
  // (src/include/utils/pidfile.h).
  const [pid, , , port, , , , status] = (text ?? '').split('\n');
  if (!Number(pid)) return undefined;
  return { pid: Number(pid), port: Number(port ?? 0), status: parseStatus(status?.trim()) };
}

/** Stops the server and waits until it is gone: a fast shutdown, and after `patienceMs` an immediate one. */
export async function stopPostmaster(folder: string, patienceMs = 30_000): Promise<void> {
  const postmaster = await readLockFile(folder);
  if (!postmaster || !(await isPostmasterOf(postmaster.pid, folder))) return;
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    sendSignal(postmaster.pid, signal);
    const deadline = Date.now() + patienceMs;
    while (Date.now() < deadline) {
      if (!(await isPostmasterOf(postmaster.pid, folder))) return;
      await sleep(POLL_MS);
    }
  }
  throw new EmbeddedPostgresError(`The PostgreSQL server of ${folder} (process id ${postmaster.pid}) does not stop.`);
}

/** Whether a process with this id exists, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Whether the process is the main one of the server on this cluster. Neither its children nor a zombie are. */
export async function isPostmasterOf(pid: number, folder: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    const { output } = await runProgram('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
    return output.includes(`/postgres -D ${folder}`);
  }
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const [program, ...args] = command.split('\0');
  if (basename(program ?? '') !== 'postgres') return false;
  if (args.includes(folder)) return true;
  // Started by hand, or moved since: its working folder tells, where we may read that.
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
