import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { errorName } from './error-name.js';
import { DatabaseClient } from '../common/database-client.js';
import { backoffMs } from '../common/retry.js';
import type { SignalHub, SignalLink } from './signal-hub.js';

const HEARTBEAT_MS = 15_000;
const ANSWER_WITHIN_MS = 5_000;

/** `pg_stat_activity` shows the connection under this name. */
export const LISTENER_APPLICATION_NAME = 'signalbox-events-listener';

/** The dedicated LISTEN connection of a process. A heartbeat checks it; a lost connection is replaced. */
export class PostgresListener {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /** Failures since the last successful connection. */
  private failures = 0;

  constructor(
    private readonly databaseUrl: string,
    private readonly hub: SignalHub,
    private readonly log: (message: string) => void,
  ) {}

  /** Connects on the first call; later calls do nothing. */
  start(): void {
    this.running ??= this.run();
  }

  async close(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.listen();
      } catch (error) {
        if (this.failures === 0) {
          this.log(`The connection for live events was lost; reconnecting (${errorName(error)})`);
        }
      }
      this.failures++;
      await sleep(backoffMs(this.failures), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Opens one connection and waits for its end. Rejects when it is lost, resolves on `close`. */
  private async listen(): Promise<void> {
    const client = new DatabaseClient({
      connectionString: this.databaseUrl,
      application_name: LISTENER_APPLICATION_NAME,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      keepAlive: true,
    });
    const ended = Promise.withResolvers<void>();
    // It can reject before it is awaited: while connecting, `connect` reports the same error.
    ended.promise.catch(() => undefined);
    const stop = (): void => ended.resolve();
    client.on('error', ended.reject);
    client.on('end', stop);
    client.on('notification', ({ channel, payload = '' }) => this.hub.receive(channel, payload));
    this.stopping.signal.addEventListener('abort', stop);
    const heartbeat = setInterval(() => client.query('SELECT 1').catch(ended.reject), HEARTBEAT_MS);
    try {
      await client.connect();
      this.failures = 0;
      this.hub.attach(linkTo(client, ended.reject));
      await ended.promise;
    } finally {
      clearInterval(heartbeat);
      this.stopping.signal.removeEventListener('abort', stop);
      this.hub.detach();
      await client.end().catch(() => undefined);
    }
  }
}

/** Channel names need no escaping: they consist of letters, digits and underscores. */
function linkTo(client: Client, onFailure: (error: unknown) => void): SignalLink {
  return {
    async apply(add, remove) {
      const statements = [...remove.map((name) => `UNLISTEN "${name}"`), ...add.map((name) => `LISTEN "${name}"`)];
      await client.query(statements.join(';')).catch((error: unknown) => {
        onFailure(error);
        throw error;
      });
    },
  };
}
