import type { IncomingMessage } from 'node:http';
import { eventually } from './eventually.js';

/** The member of `_meta` that names the subscription. */
export const ABOUT = 'io.modelcontextprotocol/subscriptionId';

/** A message of a subscription. */
interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: object;
  readonly params?: { readonly uri?: string; readonly notifications?: object; readonly _meta?: object };
  readonly error?: { readonly code: number; readonly data: { readonly code: string } };
}

/** An open `subscriptions/listen`, as a client reads it. */
export class Subscription {
  readonly messages: Message[] = [];
  readonly ended: Promise<void>;

  constructor(private readonly response: IncomingMessage) {
    this.ended = this.read().catch(() => undefined);
  }

  get status(): number | undefined {
    return this.response.statusCode;
  }

  close(): void {
    this.response.destroy();
  }

  /** Waits for the first message that follows these ones. */
  async next(after: number): Promise<Message | undefined> {
    await eventually(() => this.messages.length > after);
    return this.messages[after];
  }

  private async read(): Promise<void> {
    let rest = '';
    for await (const chunk of this.response as AsyncIterable<Buffer>) {
      const events = (rest + chunk.toString('utf8')).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = event.split('\n').find((line) => line.startsWith('data:'));
        if (data !== undefined) this.messages.push(JSON.parse(data.slice('data:'.length)) as Message);
      }
    }
  }
}
