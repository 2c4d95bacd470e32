import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../dist/platform/embedded-postgres/server.js';
import { Child } from './child.mjs';
import { installedPackage, installPackages } from './install-packages.mjs';

const PACKAGES = { 'mcp-hub': '4.2.1', 'mcp-proxy': '6.7.19', supergateway: '4.0.0' };
/** Between runs of the benchmark, the peers stay here. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/bench-peers', import.meta.url));
const EVERYTHING = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
const START_WITHIN_MS = 60_000;

/** The program that the STDIO targets run. */
export const EVERYTHING_PROGRAM = { command: 'node', args: [EVERYTHING, 'stdio'] };

/** What the report calls the peers. */
export const PEER_TITLES = Object.fromEntries(Object.entries(PACKAGES).map(([name, is]) => [name, `${name} ${is}`]));

/** Installs the peers from the npm registry, unless the exact versions are there from an earlier run. */
export const installPeers = () => installPackages(FOLDER, PACKAGES);

/**
 * @typedef {{ url: string, transport: 'http' | 'sse', pid: number, headers?: Record<string, string>,
 *   stop: () => Promise<void> }} PeerTarget
 */

/** Starts `server-everything` over streamable HTTP. @returns {Promise<PeerTarget>} */
export async function startEverything() {
  const port = await findFreePort();
  const child = new Child(
    'node',
    [EVERYTHING, 'streamableHttp'],
    { PORT: String(port), NODE_ENV: 'production' },
    'ignore',
  );
  return listening(child, `http://127.0.0.1:${port}/mcp`);
}

/**
 * Starts mcp-hub, which speaks SSE to its clients, with one server.
 * @param {object} server its entry in the configuration
 * @param {string} folder holds its files; must exist
 * @returns {Promise<PeerTarget>}
 */
export async function startMcpHub(server, folder) {
  const config = join(folder, 'mcp-hub.json');
  await writeFile(config, JSON.stringify({ mcpServers: { everything: server } }));
  const port = await findFreePort();
  const home = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder, XDG_DATA_HOME: folder };
  const args = [binOf('mcp-hub'), '--port', String(port), '--config', config];
  const child = new Child('node', args, { ...home, NODE_ENV: 'production' }, 'ignore');
  return listening(child, `http://127.0.0.1:${port}/mcp`, 'sse');
}

/** @returns {Promise<PeerTarget>} */
export async function startMcpProxy({ command, args }) {
  const port = await findFreePort();
  const options = ['--host', '127.0.0.1', '--port', String(port), '--server', 'stream'];
  const child = new Child(
    'node',
    [binOf('mcp-proxy'), ...options, '--', command, ...args],
    { NODE_ENV: 'production' },
    'ignore',
  );
  return listening(child, `http://127.0.0.1:${port}/mcp`);
}

/** In its stateful mode: otherwise it would start a program for each request. @returns {Promise<PeerTarget>} */
export async function startSupergateway({ command, args }) {
  const port = await findFreePort();
  const program = [command, ...args].map((part) => `'${part}'`).join(' ');
  const options = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none', '--port', String(port)];
  const all = [binOf('supergateway'), '--stdio', program, ...options];
  const child = new Child('node', all, { NODE_ENV: 'production' }, 'ignore');
  return listening(child, `http://127.0.0.1:${port}/mcp`);
}

/** Waits until the program answers HTTP requests. */
async function listening(child, url, transport = 'http') {
  const giveUpAt = Date.now() + START_WITHIN_MS;
  for (;;) {
    try {
      // The status does not matter.
      const answer = await fetch(new URL('/', url));
      await answer.arrayBuffer();
      return { url, transport, pid: child.pid, stop: () => child.stop() };
    } catch (error) {
      if (Date.now() > giveUpAt) {
        await child.stop();
        throw new Error(`${child.name} does not listen.`, { cause: error });
      }
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    }
  }
}

function binOf(name) {
  const { bin } = installedPackage(FOLDER, name);
  return join(FOLDER, 'node_modules', name, typeof bin === 'string' ? bin : bin[name]);
}
