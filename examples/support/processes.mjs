import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SERVICE = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const EVERYTHING = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const STOP_TIMEOUT_MS = 15_000;

/** A folder of our own that is removed at the end. */
export async function makeDataFolder(cleanup) {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-demo-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  // PostgreSQL refuses to run as root and then runs as a system user, who must be able to pass through.
  if (process.getuid?.() === 0) await chmod(folder, 0o711);
  return folder;
}

/** Starts the built service on an embedded PostgreSQL; resolves with its URL and the key that its first start prints. */
export async function startSignalbox(dataDir, cleanup, signal) {
  const child = start([SERVICE], { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn' }, cleanup);
  return waitForOutput(child, /listens on (?<url>\S+)[^]*export API_KEY=(?<apiKey>\w+)\n/, signal);
}

/** Starts the reference MCP server, over streamable HTTP; resolves with its endpoint. */
export async function startMcpServer(cleanup, signal) {
  const port = await findFreePort();
  const child = start([EVERYTHING, 'streamableHttp'], { PORT: String(port) }, cleanup);
  await waitForOutput(child, /listening on port/, signal);
  return `http://127.0.0.1:${port}/mcp`;
}

function start(command, variables, cleanup) {
  const child = spawn(process.execPath, command, {
    // Nothing of our own environment, so that a DATABASE_URL of yours is never touched.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: a Ctrl-C reaches the demo alone, which then stops the others in order.
    detached: true,
  });
  cleanup.defer(() => stop(child));
  return child;
}

async function stop(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  child.kill('SIGTERM');
  await exited;
  clearTimeout(timer);
}

/** Resolves with the named groups of the pattern once the process has printed what matches. */
function waitForOutput(child, pattern, signal) {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk) => {
      output += chunk;
      const match = pattern.exec(output);
      if (match !== null) resolve(match.groups);
    };
    // The listeners stay: a pipe that nobody reads would block its writer in the end.
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('close', () => reject(new Error(`${child.spawnargs[1]} ended at once: ${output.trim()}`)));
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

async function findFreePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
