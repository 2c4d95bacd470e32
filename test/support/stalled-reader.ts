import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { TestApp } from './app.js';

/** A reader of a stream whose connection stays open while it takes nothing from it. */
export class StalledReader {
  private constructor(
    private readonly client: Socket,
    /** The server's end of the connection. */
    private readonly served: Socket,
  ) {}

  /** @param path of the stream, below `/api/default/` */
  static async open({ app, url }: TestApp, path: string, key: string): Promise<StalledReader> {
    const { hostname, port } = new URL(url);
    const accepted = once(app.getHttpServer() as Server, 'connection') as Promise<[Socket]>;
    const client = connect(Number(port), hostname);
    client.write(
      `GET /api/default/${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${key}\r\n\r\n`,
    );
    const [served] = await accepted;
    await once(client, 'readable');
    return new StalledReader(client, served);
  }

  /** What the server holds for this reader. */
  bufferedBytes(): number {
    return this.served.writableLength;
  }

  /**
   * Fills what the operating system holds for the connection, so that all that the service sends from now on stays in
   * the service.
   */
  async fillSystemBuffers(): Promise<void> {
    const padding = Buffer.alloc(64 * 1024);
    while (this.served.writableLength === 0) {
      this.served.write(padding);
      await setImmediate();
    }
  }

  /** True once the server has closed the connection. */
  get isCutOff(): boolean {
    return this.served.destroyed;
  }

  /** Takes up reading, up to `[DONE]`: the ids of all frames. */
  async readIds(): Promise<string[]> {
    let body = '';
    for await (const bytes of this.client.setEncoding('utf8')) {
      body += String(bytes);
      if (body.slice(-100).includes('data: [DONE]')) break;
    }
    // Chunk borders of the transfer encoding (RFC 9112 §7.1) may fall anywhere.
    const text = body.slice(body.indexOf('\r\n\r\n') + 4).replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '');
    return [...text.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);
  }

  close(): void {
    this.client.destroy();
  }
}
