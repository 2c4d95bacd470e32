import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { EmbeddedPostgresError, errorCode, errorMessage } from './embedded-postgres-error.js';

/** The server's port and the superuser's password. */
interface ServerAddress {
  port: number;
  password: string;
}

/** The key of the advisory lock, in database `postgres`: "SBOX" in ASCII. */
const LOCK_KEY = 0x53424f58;
/** How long a killed service may keep its lock: until the server notices the closed connection. */
const ACQUIRE_TIMEOUT_MS = 1_000;
const RETRY_MS = 50;

/** A session that marks its process as the owner of a data folder. The lock lasts as long as the connection. */
export class OwnerLock {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Acquires the lock, or returns which process holds it.
   * @throws EmbeddedPostgresError if the server is unreachable
   */
  static async acquire(server: ServerAddress): Promise<{ lock: OwnerLock } | { heldBy: string }> {
    const client = await connect(server, 'postgres', `signalbox owner ${process.pid}`);
    try {
      for (let waited = 0; ; waited += RETRY_MS) {
        const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [LOCK_KEY]);
        if (rows[0]?.taken) return { lock: new OwnerLock(client) };
        if (waited >= ACQUIRE_TIMEOUT_MS) break;
        await sleep(RETRY_MS);
      }
      const heldBy = await findHolder(client);
      await client.end();
      return { heldBy };
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
  }

  /** Creates the database unless it exists. */
  async ensureDatabase(name: string): Promise<void> {
    const { rowCount } = await this.#client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await this.#client.query(`CREATE DATABASE ${this.#client.escapeIdentifier(name)}`);
  }

  /** Calls the listener once, when the connection and its lock are lost. */
  onLost(listener: () => void): void {
    this.#client.once('end', listener);
  }

  async release(): Promise<void> {
    await this.#client.end();
  }
}

/** Connects to a database of the embedded server; waits while the server recovers from a crash. */
export async function connect(
  { port, password }: ServerAddress,
  database: string,
  applicationName: string,
): Promise<Client> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const client = new Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      password,
      database,
      application_name: applicationName,
      ssl: false,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    // `end` reports a lost connection. Without a listener, an `error` event would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (cause) {
      const isStarting = errorCode(cause) === '57P03';
      if (!isStarting || Date.now() > deadline) throw explain(cause, port);
      await sleep(RETRY_MS);
    }
  }
}

async function findHolder(client: Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `SELECT application_name AS holder FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = $1
        AND pg_locks.database = pg_stat_activity.datid`,
    [LOCK_KEY],
  );
  const pid = /\d+$/.exec(rows[0]?.holder ?? '')?.[0];
  return pid ? `process id ${pid}` : 'process id unknown';
}

function explain(cause: unknown, port: number): EmbeddedPostgresError {
  const reason =
    errorCode(cause) === '28P01' ? 'the cluster has a different password than postgres.password' : errorMessage(cause);
  return new EmbeddedPostgresError(`The embedded PostgreSQL on port ${port} cannot be used: ${reason}.`, { cause });
}
