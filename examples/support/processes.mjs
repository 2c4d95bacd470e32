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
/** With which a terminal or a process manager ends a program. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Creates a temporary folder that is removed at the end. */
export async function makeDataFolder(cleanup) {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-demo-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  // PostgreSQL does not run as root. It runs as a system user, who needs to traverse the folder.
  if (process.getuid?.() === 0) await chmod(folder, 0o711);
  return folder;
}

/**
 * Starts the built service on an embedded PostgreSQL. Resolves with its URL and the key that its first start prints.
 * @param {{ main?: string, settings?: Record<string, string> }} options `main`: the entry of another build;
 *   `settings`: further variables
 */
export async function startSignalbox(dataDir, cleanup, signal, { main = SERVICE, settings = {} } = {}) {
  const child = start([main], { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn', ...settings }, cleanup);
  return waitForOutput(child, /listens on (?<url>\S+)[^]*export API_KEY=(?<apiKey>\w+)\n/, signal);
}

/** Starts the reference MCP server over streamable HTTP. Resolves with its endpoint. */
export async function startMcpServer(cleanup, signal) {
  const port = await findFreePort();
  const child = start([EVERYTHING, 'streamableHttp'], { PORT: String(port) }, cleanup);
  await waitForOutput(child, /listening on port/, signal);
  return `http://127.0.0.1:${port}/mcp`;
}

function start(command, variables, cleanup) {
  const child = spawn(process.execPath, command, {
    // Do not pass on the environment, so that the demo never uses your DATABASE_URL.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Use a separate process group, so that Ctrl-C reaches only the demo, which then stops the others in order.
    detached: true,
  });
  cleanup.defer(() => stop(child));
  return child;
}

/** Passes on the signals that arrive meanwhile: two that are apart end the service at once. */
async function stop(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  const passOn = () => child.kill('SIGTERM');
  for (const signal of SIGNALS) process.on(signal, passOn);
  passOn();
  await exited;
  for (const signal of SIGNALS) process.removeListener(signal, passOn);
  clearTimeout(timer);
}

/** Resolves with the named groups of the pattern when the output of the process matches. */
function waitForOutput(child, pattern, signal) {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk) => {
      output += chunk;
      const match = pattern.exec(output);
      if (match !== null) resolve(match.groups);
    };
    // Keep the listeners: an unread pipe blocks its writer when it is full.
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('close', () => reject(new Error(`${child.spawnargs[1]} exited during its start: ${output.trim()}`)));
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
