import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findFreePort } from '../../src/platform/embedded-postgres/server.js';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.js';
import { redisServerCommand } from '../support/redis-server.js';

/** A PostgreSQL or Redis server of a trial. */
export interface Store {
  readonly url: string;
  /** Ends the server with this signal and starts it again on the same port. Resolves when it accepts connections. */
  restart(signal: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
}

const RESTART_WITHIN_MS = 120_000;
const POLL_MS = 20;

/** A new PostgreSQL below this folder. SIGINT is its fast shutdown, SIGQUIT its immediate one, SIGKILL a crash. */
export async function startPostgres(dataDir: string): Promise<Store> {
  const { url, stop } = await startEmbeddedPostgres({ dataDir });
  const readPostmaster = async (): Promise<{ pid: number; isReady: boolean }> => {
    const text = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').catch(() => '');
    const lines = text.split('\n');
    return { pid: Number(lines[0]), isReady: lines[7]?.trim() === 'ready' };
  };
  return {
    url,
    stop,
    // The embedded server's owner, which is this process, starts it again.
    async restart(signal) {
      const before = await readPostmaster();
      process.kill(before.pid, signal);
      for (const deadline = Date.now() + RESTART_WITHIN_MS; ; await sleep(POLL_MS)) {
        const { pid, isReady } = await readPostmaster();
        if (isReady && pid !== before.pid) return;
        if (Date.now() > deadline) throw new Error('PostgreSQL did not start again.');
      }
    },
  };
}

/**
 * A new Redis below this folder. It appends every write to a file before it answers, so that a restart keeps
 * everything; only a crash of the machine would lose up to a second.
 * @param options.keepsData false deletes the file at each restart
 */
export async function startPersistentRedis(folder: string, { keepsData }: { keepsData: boolean }): Promise<Store> {
  const command = redisServerCommand();
  if (command === undefined) throw new Error('Neither redis-server nor valkey-server is on the PATH.');
  const port = await findFreePort();
  const url = `redis://127.0.0.1:${port}`;
  const start = async (): Promise<ChildProcess> => {
    await mkdir(folder, { recursive: true });
    const server = spawn(
      command,
      ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', ''],
      { stdio: 'ignore' },
    );
    const probe = new Redis(url, { retryStrategy: () => POLL_MS, maxRetriesPerRequest: null });
    probe.on('error', () => undefined);
    await probe.ping();
    probe.disconnect();
    return server;
  };
  let server = await start();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  };
  return {
    url,
    async restart(signal) {
      await end(signal);
      if (!keepsData) await rm(folder, { recursive: true, force: true });
      server = await start();
    },
    stop: () => end('SIGTERM'),
  };
}
