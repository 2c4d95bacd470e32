import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../../dist/platform/embedded-postgres/server.js';
import { Child } from '../child.mjs';

const START_WITHIN_MS = 60_000;
const LOG_LINES = 5;

/**
 * `call` is what its callers call where the proxy does not offer the tools of its upstream themselves, see
 * `caller.mjs`.
 * @typedef {{ url: string, transport: 'http' | 'sse', pid: number, headers?: Record<string, string>,
 *   call?: { name: string, arguments: object }, stop: () => Promise<void> }} ProxyTarget
 */

/**
 * Starts a program on a free port, and waits until it answers HTTP requests.
 * @param {{ folder: string, command?: string, args: (port: number) => string[],
 *   env?: (port: number) => NodeJS.ProcessEnv, path: string, transport?: 'http' | 'sse' }} program `folder` is its home
 *   and gets the file of its errors; `path` of its MCP endpoint
 * @returns {Promise<ProxyTarget>}
 * @throws with the end of what it wrote, if it ends or does not listen in time
 */
export async function startListening({ folder, command = 'node', args, env = () => ({}), path, transport = 'http' }) {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}${path}`;
  const log = join(folder, 'stderr.log');
  const home = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder, XDG_DATA_HOME: folder };
  const all = { ...home, NODE_ENV: 'production', ...env(port) };
  const child = new Child(command, args(port), all, openSync(log, 'w', 0o600));
  const giveUpAt = Date.now() + START_WITHIN_MS;
  while (!(await answers(url))) {
    if (child.hasExited || Date.now() > giveUpAt) {
      await child.stop();
      const lines = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-LOG_LINES);
      throw new Error(`${child.name} does not listen. ${lines.join(' ')}`);
    }
    await sleep(100);
  }
  return { url, transport, pid: child.pid, stop: () => child.stop() };
}

/** Whether a server listens there. The status does not matter. */
async function answers(url) {
  try {
    const answer = await fetch(new URL('/', url));
    await answer.body?.cancel();
    return true;
  } catch {
    return false;
  }
}
