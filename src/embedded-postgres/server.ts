import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rename, statfs, type FileHandle } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.js';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { findPostmaster, readLockFile, removeStaleLockFile } from './postmaster.js';
import { failureReason, programOptions } from './program.js';

/** What holds at every start, whatever the cluster's configuration files say. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  cluster_name: 'signalbox',
  // The server's own events only: errors go to the client that caused them, and with a statement or its values they
  // could hold what must not be written down. This also keeps the log small.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  lc_messages: 'C',
};

/** Crash recovery may take this long; it goes on when we give up, and the next start waits again. */
const START_TIMEOUT_MS = 120_000;
const RETRY_MS = 100;
const POLL_MS = 10;

export interface RunningServer {
  port: number;
  /** It was running already: a service that died left it behind. */
  found: boolean;
}

/**
 * The cluster's server: the one that runs, or else a new one on a port that `choosePort` names. The server lives in a
 * session of its own, so that a Ctrl-C in the terminal does not reach it and our end does not end it.
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
    if (!isPassing(failure) || attempt === 50) {
      throw new EmbeddedPostgresError(
        `PostgreSQL could not start on ${cluster.folder}: ${await explain(failure, cluster)} (log: ${cluster.logFile}).`,
      );
    }
    await sleep(RETRY_MS);
  }
}

/** A port of 127.0.0.1 that was free a moment ago. */
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
 * Whether another attempt may succeed: somebody took the port, another process started the server at the same moment, or
 * the children of a killed server are not gone yet.
 */
function isPassing(failure: string): boolean {
  return (
    failure.includes('could not bind IPv4 address') ||
    failure.includes('lock file "postmaster.pid" already exists') ||
    failure.includes('pre-existing shared memory block')
  );
}

async function explain(failure: string, { folder }: Cluster): Promise<string> {
  if (failure !== '') return failureReason(failure);
  // On a full disk, the server cannot even say so.
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < 1_000_000 ? 'the disk is full' : failureReason(failure);
}

/** Starts the server and waits until it accepts connections. When it ends instead: what it wrote to its log. */
async function launch({ binaries, folder, user, logFile }: Cluster, port: number, deadline: number) {
  const log = await open(logFile, 'a+', 0o600);
  try {
    const { size: logged } = await log.stat();
    const settings = Object.entries({ ...SETTINGS, port: String(port) });
    const server = spawn(
      binaries.postgres,
      ['-D', folder, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { ...programOptions(user), detached: true, stdio: ['ignore', log.fd, log.fd] },
    );
    const ended = once(server, 'exit').then(() => true);
    ended.catch(() => undefined);
    await once(server, 'spawn');
    server.unref();
    for (;;) {
      const postmaster = await readLockFile(folder);
      if (postmaster?.pid === server.pid && postmaster?.status === 'ready') return undefined;
      if (await Promise.race([ended, sleep(POLL_MS, false)])) return await readFrom(log, logged);
      if (Date.now() > deadline) {
        throw new EmbeddedPostgresError(`PostgreSQL is still starting on ${folder}: wait for it, and start again.`);
      }
    }
  } finally {
    await log.close();
  }
}

/** Every run has a log of its own, and the one before is kept: they do not grow for ever. */
async function rotateLog(logFile: string): Promise<void> {
  await rename(logFile, `${logFile}.1`).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

async function readFrom(file: FileHandle, position: number): Promise<string> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(65_536), position });
  return buffer.toString('utf8', 0, bytesRead);
}
