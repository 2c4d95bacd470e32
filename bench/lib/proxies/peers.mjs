import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installedPackage, installPackages } from '../install-packages.mjs';
import { MESSAGE } from './message.mjs';
import { startListening } from './start.mjs';

/** Each peer has a folder of its own here, which stays between runs of the benchmark. */
const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/bench-peers', import.meta.url));
const UPSTREAM = 'everything';

/**
 * The proxies and gateways of npm. `upstreams` it is measured with; `start` gets the upstream (`url`, or `command` and
 * `args`) and a folder for its files; `leaves` says what it does not do that ours does, or does instead.
 * @typedef {{ url?: string, command?: string, args?: string[] }} Upstream
 * @type {Record<string, { version: string, upstreams: ('HTTP' | 'STDIO')[], leaves: string,
 *   start(upstream: Upstream, folder: string): Promise<import('./start.mjs').ProxyTarget> }>}
 */
export const PEERS = {
  'mcp-hub': {
    version: '4.2.1',
    upstreams: ['HTTP', 'STDIO'],
    leaves: 'keys, permissions, records; answers on one stream of 2024',
    start: startMcpHub,
  },
  'mcp-proxy': {
    version: '6.7.19',
    upstreams: ['STDIO'],
    leaves: 'keys, permissions, records, several upstreams',
    start: startMcpProxy,
  },
  supergateway: {
    version: '4.0.0',
    upstreams: ['STDIO'],
    leaves: 'keys, permissions, records, several upstreams',
    start: startSupergateway,
  },
  '@standardbeagle/slop-mcp': {
    version: '0.15.0',
    upstreams: ['HTTP', 'STDIO'],
    leaves: 'keys, permissions, records; a call goes through its tool execute_tool',
    start: startSlop,
  },
};

/** What the report calls a peer. */
export const titleOf = (name) => `${name.replace(/^@.*\//, '')} ${PEERS[name].version}`;

/** Installs a peer from the npm registry, unless the exact version is there from an earlier run. */
export const installPeer = (name) => installPackages(join(FOLDER, name), { [name]: PEERS[name].version });

/** mcp-hub speaks SSE to its clients. */
async function startMcpHub(upstream, folder) {
  const config = join(folder, 'mcp-hub.json');
  await writeFile(config, JSON.stringify({ mcpServers: { [UPSTREAM]: upstream } }));
  return startListening({
    folder,
    args: (port) => [binOf('mcp-hub'), '--port', String(port), '--config', config],
    path: '/mcp',
    transport: 'sse',
  });
}

function startMcpProxy({ command, args }, folder) {
  const options = (port) => ['--host', '127.0.0.1', '--port', String(port), '--server', 'stream'];
  return startListening({
    folder,
    args: (port) => [binOf('mcp-proxy'), ...options(port), '--', command, ...args],
    path: '/mcp',
  });
}

/** In its stateful mode: otherwise it would start a program for each request. */
function startSupergateway({ command, args }, folder) {
  const program = [command, ...args].map((part) => `'${part}'`).join(' ');
  const options = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none'];
  return startListening({
    folder,
    args: (port) => [binOf('supergateway'), '--stdio', program, ...options, '--port', String(port)],
    path: '/mcp',
  });
}

/**
 * A program in Go. It speaks SSE to its callers, and offers tools that search and call those of its upstreams. It is
 * started without the package's program in Node.js, so that its processor time is that of one process.
 */
async function startSlop({ url, command, args = [] }, folder) {
  const name = '@standardbeagle/slop-mcp';
  const { getBinaryPath } = createRequire(join(FOLDER, name, 'package.json'))(name);
  const values = (all) => all.map((each) => JSON.stringify(each)).join(' ');
  const lines =
    url === undefined
      ? ['type "command"', `command ${values([command])}`, `args ${values(args)}`]
      : ['type "streamable"', `url ${values([url])}`];
  await mkdir(join(folder, 'slop-mcp'));
  await writeFile(join(folder, 'slop-mcp/config.kdl'), `mcp "${UPSTREAM}" {\n${lines.join('\n')}\n}\n`);
  const target = await startListening({
    folder,
    command: getBinaryPath(),
    args: (port) => ['serve', '--port', String(port)],
    path: '/',
    transport: 'sse',
  });
  const parameters = { message: MESSAGE };
  return {
    ...target,
    call: { name: 'execute_tool', arguments: { mcp_name: UPSTREAM, tool_name: 'echo', parameters } },
  };
}

function binOf(name) {
  const { bin } = installedPackage(join(FOLDER, name), name);
  const file = typeof bin === 'string' ? bin : bin[name.replace(/^@.*\//, '')];
  return join(FOLDER, name, 'node_modules', name, file);
}
