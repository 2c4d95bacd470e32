import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { EnvReader } from '../../src/core/config/env-reader.js';
import { type RedisAddress, readRedisAddress } from '../../src/core/config/redis-address.js';

/** A Redis or Valkey of its own, without persistence. */
export interface RedisServer {
  url: string;
  /** The id of its process. */
  pid: number;
  stop(): Promise<void>;
}

/** The command that starts a server: `redis-server` or `valkey-server`, whichever is on the PATH. */
export function redisServerCommand(): string | undefined {
  return ['redis-server', 'valkey-server'].find((command) => spawnSync(command, ['--version']).status === 0);
}

/** Starts a server on a free port and waits until it answers. */
export async function startRedisServer(command: string): Promise<RedisServer> {
  const port = await freePort();
  const server = spawn(command, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']);
  const url = `redis://127.0.0.1:${port}`;
  const probe = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  probe.on('error', () => undefined);
  await probe.ping();
  probe.disconnect();
  return {
    url,
    pid: server.pid ?? -1,
    async stop() {
      const exited = once(server, 'exit');
      server.kill('SIGTERM');
      await exited;
    },
  };
}

/** What the service makes of a `REDIS_URL`. */
export function redisAddress(url: string): RedisAddress {
  return readRedisAddress(new EnvReader({ REDIS_URL: url })) as RedisAddress;
}
