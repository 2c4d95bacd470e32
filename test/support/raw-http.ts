import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A TCP connection to a service, with what came on it as text. */
export class RawConnection {
  received = '';
  ended = false;
  private readonly closing: Promise<unknown>;

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (this.received += text));
    // A reset is a way to be closed.
    socket.on('error', () => undefined);
    this.closing = Promise.race([once(socket, 'end'), new Promise((resolve) => socket.once('close', resolve))]).then(
      () => (this.ended = true),
    );
  }

  /** @param from the local address */
  static async open(url: string, from?: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), ...(from !== undefined && { localAddress: from }) });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Resolves when the other side has closed the connection. */
  async closed(): Promise<string> {
    await this.closing;
    return this.received;
  }

  /** Resolves when the pattern was received. @throws when the connection is closed without it */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.ended) throw new Error(`Closed without ${pattern.source}: ${this.received}`);
      await Promise.race([once(this.socket, 'data'), this.closing]);
    }
    return this.received;
  }

  /** The statuses of the answers so far. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  close(): void {
    this.socket.destroy();
  }
}

/** The head of a request, and the beginning of its body. */
export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>> = {},
  body = '',
): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
