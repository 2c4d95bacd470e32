import type { ServerResponse } from 'node:http';

/** The answer of an API that streams server-sent events. Each frame is flushed before the next one is written. */
export class ServerSentFrames {
  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  }

  write(data: string, event?: string): Promise<void> {
    return new Promise((resolve) => {
      const name = event === undefined ? '' : `event: ${event}\n`;
      this.response.write(`${name}data: ${data}\n\n`, () => resolve());
    });
  }

  end(): void {
    this.response.end();
  }
}
