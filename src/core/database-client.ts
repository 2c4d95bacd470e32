import { Client, type ClientConfig } from 'pg';

const READ_TIMEOUT = 'Query read timeout';

/**
 * A database connection whose failure at any moment does not end the process. Pools use it as their `Client`. A pool,
 * and a library above it, adds its error listener only after it has handed out the client; an earlier error would have
 * no listener. BullMQ removes all listeners before it closes a client.
 */
export class DatabaseClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.giveUpSilentConnections();
  }

  /** Drops an error without a listener instead of throwing it: the current or the next query rejects. */
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    return (event !== 'error' || this.listenerCount(event) > 0) && super.emit(event, ...values);
  }

  /** A query that timed out is still in progress, and the next user of the connection would wait for it too. */
  private giveUpSilentConnections(): void {
    const query = this.query.bind(this) as (config: unknown, values: unknown, callback: unknown) => unknown;
    const endAfter = (error: unknown): void => {
      if (error instanceof Error && error.message === READ_TIMEOUT) this.connection.stream.destroy();
    };
    const watched = (config: unknown, values: unknown, callback: unknown): unknown => {
      const answer = query(config, values, callback);
      if (answer instanceof Promise) answer.catch(endAfter);
      return answer;
    };
    this.query = watched as Client['query'];
  }
}
