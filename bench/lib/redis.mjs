import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Child } from './child.mjs';

const PROGRAMS = ['redis-server', 'valkey-server'];

/** Starts a Redis (or Valkey) server on a free port, without persistence. Returns undefined if none is on the PATH. */
export async function startRedis(folder) {
  const program = PROGRAMS.find((name) => spawnSync(name, ['--version']).status === 0);
  if (program === undefined) return undefined;
  const port = await freePort();
  const child = new Child(program, ['--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', folder]);
  await child.line(/Ready to accept connections( )?/);
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid, stop: () => child.stop() };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return String(port);
}
