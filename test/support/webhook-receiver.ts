import { expect } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.js';

/** A message as it arrived. */
export interface ReceivedMessage {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers a message; without an end of the response, the sender gets no answer. */
export type Respond = (response: ServerResponse, message: ReceivedMessage) => void;

/** A receiver of webhooks. It answers with 204 unless `respond` does. */
export class WebhookReceiver {
  readonly messages: ReceivedMessage[] = [];
  respond: Respond = answerWith(204);
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    response.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const message = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() };
      this.messages.push(message);
      this.respond(response, message);
    });
  });

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  /** The messages of a run, once there are `count` of them. */
  async messagesOf(runId: string, count = 1): Promise<ReceivedMessage[]> {
    return eventually(() => {
      const found = this.messages.filter(({ body }) => body.includes(runId));
      expect(found.length).toBeGreaterThanOrEqual(count);
      return found;
    });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

export function answerWith(status: number, headers: Record<string, string> = {}): Respond {
  return (response) => void response.writeHead(status, headers).end();
}
