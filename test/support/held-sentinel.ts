import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A Sentinel whose answers a test can hold back, so that messages about a failover arrive while a client asks. */
export class HeldSentinel {
  private readonly sockets = new Set<Socket>();
  private readonly subscribers = new Set<Socket>();
  private readonly held: (() => void)[] = [];
  private isHolding = false;
  private readonly server = createServer((socket) => this.serve(socket));

  private constructor(private readonly masterPort: number) {}

  /** @param masterPort where clients find the master */
  static async start(masterPort: number): Promise<HeldSentinel> {
    const sentinel = new HeldSentinel(masterPort);
    await once(sentinel.server.listen(0, '127.0.0.1'), 'listening');
    return sentinel;
  }

  /** For `REDIS_URL`. */
  get url(): string {
    return `redis+sentinel://127.0.0.1:${(this.server.address() as AddressInfo).port}/signalbox`;
  }

  /** How many clients wait for the address of the master. */
  get waiting(): number {
    return this.held.length;
  }

  /** How many clients listen for the switch to another master. */
  get listening(): number {
    return this.subscribers.size;
  }

  /** Questions for the master wait from now on. */
  hold(): void {
    this.isHolding = true;
  }

  /** Answers the questions that wait, and later ones at once. */
  release(): void {
    this.isHolding = false;
    this.held.splice(0).forEach((answer) => answer());
  }

  /** Says that another server has become the master. */
  announceSwitch(): void {
    const message = array('message', '+switch-master', 'signalbox 127.0.0.1 1 127.0.0.1 2');
    this.subscribers.forEach((socket) => socket.write(message));
  }

  close(): void {
    this.server.close();
    this.sockets.forEach((socket) => socket.destroy());
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.subscribers.delete(socket);
    });
    socket.setEncoding('utf8').on('data', (commands: string) => {
      for (const command of commands.split(/(?=\*\d+\r\n)/)) this.answer(socket, command.toLowerCase());
    });
  }

  private answer(socket: Socket, command: string): void {
    if (command.includes('get-master-addr-by-name')) {
      const answer = () => void socket.write(array('127.0.0.1', String(this.masterPort)));
      if (this.isHolding) this.held.push(answer);
      else answer();
    } else if (command.includes('subscribe')) {
      this.subscribers.add(socket);
      socket.write(`*3\r\n${bulk('subscribe')}${bulk('+switch-master')}:1\r\n`);
    } else {
      socket.write('+OK\r\n');
    }
  }
}

function array(...texts: string[]): string {
  return `*${texts.length}\r\n${texts.map(bulk).join('')}`;
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}
