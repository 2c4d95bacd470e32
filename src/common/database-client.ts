import { Client, type ClientConfig } from 'pg';

const READ_TIMEOUT = 'Query read timeout';

/**
 * A connection to the database that can break at any moment without ending the process. Pools take it as their `Client`: a pool,
 * and a library above it, listens to the errors of a client only after it has handed it out, and an error before that moment
 * would find no listener. BullMQ removes all listeners before it closes a client.
 */
export class DatabaseClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.giveUpSilentConnections();
  }

  /** An error without a listener is dropped instead of thrown: the query under way, or the next one, rejects. */
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    return (event !== 'error' || this.listenerCount(event) > 0) && super.emit(event, ...values);
  }

  /** A query that got no answer in time is still under way: whoever used the connection next would wait for it, too. */
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
