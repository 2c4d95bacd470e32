import { freePort } from './free-port.js';
import { Program } from './program.js';
import { entryOf } from './reference-servers.js';

export interface EverythingServer {
  /** The MCP endpoint. */
  url: string;
  /** Kills the process and waits until it is gone. */
  close(): Promise<unknown>;
}

/**
 * Starts the reference server `@modelcontextprotocol/server-everything`, on a free port if none is given, and waits
 * until it listens.
 */
export async function startEverything(port?: number): Promise<EverythingServer> {
  const own = port ?? (await freePort());
  const server = new Program(process.execPath, [entryOf('server-everything'), 'streamableHttp'], {
    env: { PATH: process.env['PATH'], PORT: String(own) },
  });
  await server.printed(/listening on port/);
  return { url: `http://127.0.0.1:${own}/mcp`, close: () => server.kill('SIGKILL') };
}
