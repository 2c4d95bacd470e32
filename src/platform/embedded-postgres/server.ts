import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rename, statfs, type FileHandle } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.js';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { findPostmaster, readLockFile, removeStaleLockFile } from './postmaster.js';
import { failureReason, programOptions } from './program.js';

/** Settings of every start. They override the cluster's configuration files. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  cluster_name: 'signalbox',
  // Log only the server's own events. Errors go to the client that caused them; their statements and values could
  // contain secrets. This also keeps the log small.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  lc_messages: 'C',
};

/** Limit for crash recovery. After a timeout the recovery continues, and the next start waits for it again. */
const START_TIMEOUT_MS = 120_000;
const RETRY_MS = 100;
const POLL_MS = 10;

interface RunningServer {
  port: number;
  /** True if it was already running, left behind by a service that died. */
  found: boolean;
}

/**
 * The cluster's server: the running one, or a new one on the port that `choosePort` returns. The server runs in its own
 * session, so that neither Ctrl-C in the terminal nor the end of this process stops it.
 */
export async function ensureServer(cluster: Cluster, choosePort = findFreePort): Promise<RunningServer> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (let attempt = 1; ; attempt += 1) {
    const running = await findPostmaster(cluster.folder, deadline);
    if (running) return { port: running.port, found: true };
    await removeStaleLockFile(cluster.folder);
    if (attempt === 1) await rotateLog(cluster.logFile);
    const port = await choosePort();
    const failure = await launch(cluster, port, deadline);
    if (failure === undefined) return { port, found: false };
    if (!isTransient(failure) || attempt === 50) {
      throw new EmbeddedPostgresError(
        `PostgreSQL could not start on ${cluster.folder}: ${await explain(failure, cluster)} (log: ` +
          `${cluster.logFile}).`,
      );
    }
    await sleep(RETRY_MS);
  }
}

/** A port of 127.0.0.1 that is free at the time of the call. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The socket has no port.');
  return address.port;
}

/**
 * Whether another attempt may succeed: another program took the port, another process started the server at the same
 * time, or children of a killed server are still running.
 */
function isTransient(failure: string): boolean {
  return (
    failure.includes('could not bind IPv4 address') ||
    failure.includes('lock file "postmaster.pid" already exists') ||
    failure.includes('pre-existing shared memory block')
  );
}

async function explain(failure: string, { folder }: Cluster): Promise<string> {
  if (failure !== '') return failureReason(failure);
  // On a full disk, the server cannot log the reason.
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < 1_000_000 ? 'the disk is full' : failureReason(failure);
}

/** Starts the server and waits until it accepts connections. If it exits instead, returns its log output. */
async function launch(cluster: Cluster, port: number, deadline: number): Promise<string | undefined> {
  const log = await open(cluster.logFile, 'a+', 0o600);
  const { size: logged } = await log.stat();
  const server = spawnServer(cluster, port, log);
  const endWithProcess = (): void => void server.kill('SIGINT');
  process.once('exit', endWithProcess);
  try {
    const ended = once(server, 'exit').then(() => true);
    ended.catch(() => undefined);
    await once(server, 'spawn');
    server.unref();
    for (;;) {
      const postmaster = await readLockFile(cluster.folder);
      if (postmaster?.pid === server.pid && postmaster?.status === 'ready') return undefined;
      if (await Promise.race([ended, sleep(POLL_MS, false)])) return await readFrom(log, logged);
      if (Date.now() > deadline) {
        throw new EmbeddedPostgresError(
          `PostgreSQL is still starting on ${cluster.folder}. Wait for it, then start the service again.`,
        );
      }
    }
  } finally {
    process.removeListener('exit', endWithProcess);
    await log.close();
  }
}

function spawnServer({ binaries, folder, user }: Cluster, port: number, log: FileHandle): ChildProcess {
  const settings = Object.entries({ ...SETTINGS, port: String(port) });
  return spawn(binaries.postgres, ['-D', folder, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])], {
    ...programOptions(user),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
}

/** Keeps one log for the current run and one for the previous run, so that logs do not grow without bound. */
async function rotateLog(logFile: string): Promise<void> {
  await rename(logFile, `${logFile}.1`).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

async function readFrom(file: FileHandle, position: number): Promise<string> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(65_536), position });
  return buffer.toString('utf8', 0, bytesRead);
}
