import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A minimal SMTP server (RFC 5321) that keeps what it receives. */
export class SmtpServer {
  readonly messages: { to: string; text: string }[] = [];
  readonly #waiting: (() => void)[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<SmtpServer> {
    const server = createServer();
    const smtp = new SmtpServer(server);
    server.on('connection', (socket) => smtp.#serve(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return smtp;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.address() as AddressInfo).port}?ignoreTLS=true`;
  }

  /** Waits for the message to this address. */
  async messageTo(address: string): Promise<string> {
    for (;;) {
      const found = this.messages.find(({ to }) => to === address);
      if (found !== undefined) return found.text;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  close(): void {
    this.server.close();
  }

  #serve(socket: Socket): void {
    let to = '';
    let data: string[] | undefined;
    let rest = '';
    const answer = (line: string) => socket.write(`${line}\r\n`);
    const onCommand = (line: string): void => {
      if (/^DATA/i.test(line)) {
        data = [];
        answer('354 Go ahead');
      } else if (/^QUIT/i.test(line)) socket.end('221 Bye\r\n');
      else {
        to = /^RCPT TO:<([^>]*)>/i.exec(line)?.[1] ?? to;
        answer('250 OK');
      }
    };
    const onData = (line: string, lines: string[]): void => {
      if (line !== '.') return void lines.push(line.replace(/^\.\./, '.'));
      // Quoted-printable (RFC 2045): long lines are folded, and `=` is escaped.
      const text = lines.join('\n').replaceAll('=\n', '').replaceAll('=3D', '=');
      this.messages.push({ to, text });
      data = undefined;
      answer('250 Kept');
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (data === undefined) onCommand(line);
        else onData(line, data);
      }
    });
    socket.on('error', () => undefined);
    answer('220 test');
  }
}
