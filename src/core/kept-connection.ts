import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { DatabaseClient } from './database-client.js';
import { backoffMs } from './retry.js';

/** Also limits every statement on the connection. */
const CONNECT_WITHIN_MS = 5_000;

interface KeptConnectionOptions {
  readonly databaseUrl: string;
  /** `pg_stat_activity` shows the connection under this name. */
  readonly applicationName: string;
  readonly checkEveryMs: number;
  /** How long a statement can take; the connection counts as lost afterwards. */
  readonly answerWithinMs?: number;
  /** Limits the pauses before the next connection, which grow with the failures. */
  readonly longestPauseMs?: number;
  /** Prepares a new connection. A rejection, or a call of `fail`, replaces the connection. */
  readonly onOpen: (client: Client, fail: (error: unknown) => void) => Promise<void> | void;
  /** Checks the connection now and then. A rejection replaces it. */
  readonly check?: (client: Client) => Promise<unknown>;
  /** Called when a connection has ended, or could not be opened. */
  readonly onEnd?: () => void;
  /** Called after each failure, before the pause. @param failures since the last prepared connection, from 1 */
  readonly onFailure: (error: unknown, failures: number) => void;
}

/**
 * A connection to the database that a process keeps for itself. Checks find out whether it still works; a lost one is
 * replaced.
 */
export class KeptConnection {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private failures = 0;

  constructor(private readonly options: KeptConnectionOptions) {}

  /** Connects on the first call; later calls do nothing. */
  start(): void {
    this.running ??= this.run();
  }

  /** Ends the connection, and opens no other one. */
  async close(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const { onFailure, longestPauseMs = Infinity } = this.options;
    while (!signal.aborted) {
      const error: unknown = await this.keep().catch((reason: unknown) => reason);
      if (signal.aborted) return;
      this.failures++;
      onFailure(error ?? new Error('The connection has ended.'), this.failures);
      const pauseMs = Math.min(backoffMs(this.failures), longestPauseMs);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Opens one connection and waits for its end. Rejects when it is lost, resolves on `close`. */
  private async keep(): Promise<void> {
    const {
      databaseUrl,
      applicationName,
      checkEveryMs,
      answerWithinMs = CONNECT_WITHIN_MS,
      onOpen,
      onEnd,
    } = this.options;
    const { check = (client) => client.query('SELECT 1') } = this.options;
    const client = new DatabaseClient({
      connectionString: databaseUrl,
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      query_timeout: answerWithinMs,
      keepAlive: true,
    });
    const ended = Promise.withResolvers<void>();
    // It can reject before it is awaited: while connecting, `connect` reports the same error.
    ended.promise.catch(() => undefined);
    const stop = (): void => ended.resolve();
    client.on('error', ended.reject);
    client.on('end', stop);
    this.stopping.signal.addEventListener('abort', stop);
    let checks: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await onOpen(client, ended.reject);
      this.failures = 0;
      checks = setInterval(() => check(client).catch(ended.reject), checkEveryMs);
      await ended.promise;
    } finally {
      clearInterval(checks);
      this.stopping.signal.removeEventListener('abort', stop);
      onEnd?.();
      await client.end().catch(() => undefined);
    }
  }
}
