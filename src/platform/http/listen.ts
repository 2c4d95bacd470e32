import cluster from 'node:cluster';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { FastifyInstance } from 'fastify';

/** How many connections are accepted in one turn of the event loop. */
const SOCKETS = 16;

interface ListenAddress {
  readonly port: number;
  readonly host: string;
}

/**
 * Listens with several sockets on one address. libuv accepts one connection of each listening socket in a turn of the
 * event loop (https://github.com/libuv/libuv/pull/3696): with one socket, a caller who opens hundreds of connections to
 * a busy process makes everyone who connects after that wait for as many turns. The kernel distributes connections over
 * the sockets (`SO_REUSEPORT`).
 * @param listen starts the server's own socket
 * @throws the error of `listen`, such as EADDRINUSE
 */
export async function listenWidely(
  fastify: FastifyInstance,
  { port, host }: ListenAddress,
  listen: (options: ListenAddress & { reusePort: boolean }) => Promise<unknown>,
): Promise<void> {
  // The processes of a Node.js cluster share the socket of the first one.
  const reusePort = cluster.isPrimary && (await isSupported(host));
  const server = fastify.server as HttpServer;
  const others: Server[] = [];
  // Two services that both share their port would not notice each other.
  if (reusePort && port !== 0) {
    const claim = await claimPort({ port, host });
    if (claim !== undefined) others.push(claim);
  }
  fastify.addHook('preClose', (done) => {
    for (const other of others) other.close();
    done();
  });
  await listen({ port, host, reusePort });
  if (!reusePort) return;
  const own = server.address() as AddressInfo;
  const hand = (socket: Socket): void => void server.emit('connection', socket);
  for (let n = 1; n < SOCKETS; n++) {
    // As `http.Server` creates its own.
    const other = createServer({ allowHalfOpen: true, noDelay: true }, hand);
    others.push(other);
    await listening(other, { port: own.port, host: own.address, reusePort });
  }
}

/** True if several sockets can listen on one port. Not every operating system permits that. */
async function isSupported(host: string): Promise<boolean> {
  const probe = createServer();
  try {
    await listening(probe, { port: 0, host, reusePort: true });
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

/**
 * Finds out whether another service listens. A service that starts at the same moment would find the port free, too; so
 * on Linux, each holds the port's name in the abstract namespace of sockets, which is that of the same network, until
 * it ends.
 * @throws Error EADDRINUSE
 */
async function claimPort(address: ListenAddress): Promise<Server | undefined> {
  if (process.platform !== 'linux') return void (await requireFree(address));
  const { port, host } = address;
  const claim = createServer((socket) => socket.destroy()).unref();
  try {
    await once(claim.listen(`\0signalbox-${host}:${port}`), 'listening');
  } catch (error) {
    throw Object.assign(error as Error, { address: host, port });
  }
  await requireFree(address).catch((error: Error) => {
    claim.close();
    throw error;
  });
  return claim;
}

async function requireFree(address: ListenAddress): Promise<void> {
  const probe = createServer();
  await listening(probe, address);
  await once(probe.close(), 'close');
}

async function listening(server: Server, options: ListenAddress & { reusePort?: boolean }): Promise<void> {
  await once(server.listen(options), 'listening');
}
