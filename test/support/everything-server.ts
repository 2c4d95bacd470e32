import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { entryOf } from './reference-servers.js';

export interface EverythingServer {
  /** The MCP endpoint. */
  url: string;
  /** Kills the process and waits until it is gone. */
  close(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;

/**
 * Starts the reference server `@modelcontextprotocol/server-everything`, on a free port if none is given, and waits
 * until it listens.
 */
export async function startEverything(port?: number): Promise<EverythingServer> {
  return startOn(port ?? (await freePort()));
}

async function startOn(port: number): Promise<EverythingServer> {
  const child = spawn(process.execPath, [entryOf('server-everything'), 'streamableHttp'], {
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    await listening(child);
  } catch (error) {
    await kill(child);
    throw error;
  }
  return { url: `http://127.0.0.1:${port}/mcp`, close: () => kill(child) };
}

async function listening(child: ChildProcess): Promise<void> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('listening on port')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`server-everything ended with ${code}: ${output}`)));
    child.once('error', reject);
    signal.addEventListener('abort', () => reject(new Error(`server-everything did not start: ${output}`)));
  });
  await ready;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
