import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const PATH = '/metrics';
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** A little HTTP server that answers `GET /metrics` and nothing else. */
export class MetricsServer {
  private constructor(private readonly server: Server) {}

  /**
   * @param port 0: any free one
   * @throws the error of `listen`, `EADDRINUSE` for one
   */
  static async listen(host: string, port: number, read: () => Promise<AsyncIterable<string>>): Promise<MetricsServer> {
    const server = createServer((request, response) => void answer(request, response, read)).unref();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return new MetricsServer(server);
  }

  get url(): string {
    const { address, port, family } = this.server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${PATH}`;
  }

  /** Cuts off whoever is reading. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeAllConnections();
    await closed;
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  read: () => Promise<AsyncIterable<string>>,
): Promise<void> {
  if (request.url?.split('?', 1)[0] !== PATH) {
    response.writeHead(404).end();
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end();
    return;
  }
  try {
    const text = await read();
    response.writeHead(200, { 'content-type': CONTENT_TYPE });
    if (request.method === 'HEAD') response.end();
    else await pipeline(Readable.from(text), response);
  } catch {
    // The reader went away, or the metrics could not be read: a cut answer is not taken for a whole one.
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end();
  }
}
