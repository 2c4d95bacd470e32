import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP relay in front of a server, which can go away and come back as the server itself would. */
export interface TcpProxy {
  port: number;
  /** How many connections there have been. */
  connections(): number;
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>;
  /**
   * Keeps every connection open and accepts new ones, but lets no byte through in either direction; `thaw` ends that.
   */
  freeze(): void;
  thaw(): void;
  /** Delivers every byte of later connections this much later, in either direction. */
  delay(milliseconds: number): void;
  /** Sends later connections to the server of another URL, as after a restart on the same port. */
  retarget(url: string): void;
  /** Lets connections through again, on the same port. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** The URL with the relay as its server. */
export function through({ port }: TcpProxy, url: string): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(port);
  return changed.href;
}

/**
 * A relay in front of the server of this URL.
 * @param onClient sees each connection of a client, before its first byte
 */
export async function startTcpProxy(url: string, onClient?: (client: Socket) => void): Promise<TcpProxy> {
  let target = addressOf(url);
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    return socket.on('close', () => sockets.delete(socket));
  };
  let connections = 0;
  let frozen = false;
  let delayMs = 0;
  const stop = (socket: Socket): void => {
    socket.unpipe();
    socket.pause();
  };
  const freeze = (): void => {
    frozen = true;
    sockets.forEach(stop);
  };
  /** What was held up is not delivered late: the connections are replaced. */
  const thaw = (): void => {
    frozen = false;
    sockets.forEach((socket) => socket.destroy());
  };
  const server = createServer((client) => {
    connections++;
    onClient?.(client);
    const upstream = track(connect(target));
    relay(track(client), upstream, delayMs);
    relay(upstream, client, delayMs);
    if (frozen) [client, upstream].forEach(stop);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const delay = (milliseconds: number): void => void (delayMs = milliseconds);
  const retarget = (other: string): void => void (target = addressOf(other));
  const restore = (): Promise<void> => listen(port);
  return { port, connections: () => connections, cut, freeze, thaw, delay, retarget, restore, close: cut };
}

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

function relay(from: Socket, to: Socket, delayMs: number): void {
  if (delayMs === 0) return void from.pipe(to);
  // Timers of the same length expire in their order.
  from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), delayMs));
  from.on('end', () => setTimeout(() => to.end(), delayMs));
}
