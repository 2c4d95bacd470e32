import type { Settings } from '../../core/config/settings.js';
import { isLoopback } from '../../core/loopback.js';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SECURITY_HEADERS } from '../../core/security-headers.js';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const PATH = '/metrics';
/** Scrapers are few; the server closes idle connections. */
const MAX_CONNECTIONS = 64;
const REQUEST_TIMEOUT_MS = 5_000;
/** Limits concurrent readings, because each uses CPU time of the process. */
const MAX_READINGS = 4;
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** A small HTTP server that only answers `GET /metrics`. */
export class MetricsServer {
  private readings = 0;

  private constructor(
    private readonly server: Server,
    private readonly names: ReadonlySet<string>,
    private readonly read: () => Promise<AsyncIterable<string>>,
  ) {
    server.on('request', (request, response) => void this.answer(request, response));
  }

  /**
   * Listens where the settings say; undefined if they do not, or if the port is taken. The process then logs a warning
   * and serves no metrics, so that a worker and an api process with the same settings can run on one host.
   */
  static async listenAsConfigured(
    { metricsHost, metricsPort, metricsAllowedHosts }: Settings,
    read: () => Promise<AsyncIterable<string>>,
    logger: { log(line: string): void; warn(line: string): void },
  ): Promise<MetricsServer | undefined> {
    if (metricsPort === undefined) return undefined;
    try {
      const server = await MetricsServer.listen(metricsHost, metricsPort, metricsAllowedHosts, read);
      logger.log(`Serving metrics at ${server.url}`);
      return server;
    } catch (error) {
      const code =
        typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown error';
      logger.warn(
        `Cannot bind METRICS_PORT ${metricsPort} on ${metricsHost} (${code}); metrics are disabled. ` +
          'Give each process its own METRICS_PORT, or set it to 0 for any free port or to `off`.',
      );
      return undefined;
    }
  }

  /**
   * @param port 0 for any free port
   * @param names host names that requests can use, besides loopback names and the server's own address
   * @throws the error of `listen`, such as `EADDRINUSE`
   */
  static async listen(
    host: string,
    port: number,
    names: readonly string[],
    read: () => Promise<AsyncIterable<string>>,
  ): Promise<MetricsServer> {
    const server = createServer({
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: REQUEST_TIMEOUT_MS / 5,
      keepAliveTimeout: REQUEST_TIMEOUT_MS,
    }).unref();
    server.maxConnections = MAX_CONNECTIONS;
    // A stalled reader must not block others.
    server.setTimeout(2 * REQUEST_TIMEOUT_MS);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return new MetricsServer(server, new Set([host, ...names].map((name) => name.toLowerCase())), read);
  }

  get url(): string {
    const { address, port, family } = this.server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${PATH}`;
  }

  /** Closes all connections, including those of active readers. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    // The server does not read bodies, so a request with one cannot reuse its connection.
    if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) {
      response.shouldKeepAlive = false;
    }
    if (!this.isAllowedHost(request)) {
      response.writeHead(403).end();
      return;
    }
    if (request.url?.split('?', 1)[0] !== PATH) {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    if (this.readings >= MAX_READINGS) {
      response.writeHead(503, { 'retry-after': '1' }).end();
      return;
    }
    this.readings++;
    try {
      const text = await this.read();
      response.writeHead(200, { 'content-type': CONTENT_TYPE });
      if (request.method === 'HEAD') response.end();
      else await pipeline(Readable.from(text), response);
    } catch {
      // The reader disconnected, or the metrics could not be read. A reader detects a truncated response as incomplete.
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    } finally {
      this.readings--;
    }
  }

  /** Rejects DNS rebinding: a web page whose name resolves to this address sends its own name. */
  private isAllowedHost({ headers, socket }: IncomingMessage): boolean {
    const hostname = URL.parse(`http://${headers.host ?? ''}`)?.hostname;
    if (hostname === undefined) return false;
    const own = socket.localAddress?.replace(/^::ffff:/, '') ?? '';
    const bare = hostname.replace(/^\[|\]$/g, '');
    return isLoopback({ hostname }) || bare === own || this.names.has(bare);
  }
}
