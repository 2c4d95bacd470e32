import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Cluster } from './cluster.js';
import { errorMessage, EmbeddedPostgresError, errorCode } from './embedded-postgres-error.js';
import { endPostmaster, stopPostmaster } from './postmaster.js';
import { ensureServer } from './server.js';

interface Ownership {
  cluster: Cluster;
  port: number;
  password: string;
  lock: OwnerLock;
  log: (line: string) => void;
}

const FIRST_RECOVERY_PAUSE_MS = 50;

const LONGEST_RECOVERY_PAUSE_MS = 5_000;

/**
 * A running server that this process owns. If the server dies (killed, out of memory), it is restarted on the same
 * port, so that connection pools can reconnect, and its lock is acquired again.
 */
export class OwnedServer {
  readonly #server: Omit<Ownership, 'lock'>;
  #lock: OwnerLock | undefined;
  #isStopping = false;
  #recovery: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  /** For a process that ends without `stop`: its server must not stay behind. */
  readonly #endWithProcess = (): void => {
    if (this.#lock) endPostmaster(this.#server.cluster.folder);
  };

  get port(): number {
    return this.#server.port;
  }

  constructor({ lock, ...server }: Ownership) {
    this.#server = server;
    this.#own(lock);
    process.once('exit', this.#endWithProcess);
  }

  /** Stops the server, which breaks all its connections. Later calls wait for the first one. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await this.#recovery;
    // Without the lock, the server may belong to another process by now.
    if (this.#lock) {
      // Release the lock last: otherwise another service could adopt a server that is about to stop.
      await stopPostmaster(this.#server.cluster.folder);
      await this.#lock.release();
    }
    process.removeListener('exit', this.#endWithProcess);
  }

  #own(lock: OwnerLock): void {
    this.#lock = lock;
    lock.onLost(() => {
      if (this.#isStopping) return;
      this.#lock = undefined;
      this.#recovery = this.#recover();
    });
  }

  async #recover(): Promise<void> {
    const { cluster, port, password, log } = this.#server;
    log('The connection to the embedded PostgreSQL was lost. Restoring it.');
    for (
      let pause = FIRST_RECOVERY_PAUSE_MS;
      !this.#isStopping;
      pause = Math.min(2 * pause, LONGEST_RECOVERY_PAUSE_MS)
    ) {
      try {
        const running = await ensureServer(cluster, async () => port);
        const outcome = await OwnerLock.acquire({ port: running.port, password });
        if ('lock' in outcome && running.port === port) {
          this.#own(outcome.lock);
          return log('The embedded PostgreSQL is running again.');
        }
        if ('lock' in outcome) await outcome.lock.release();
        return log('Another process has taken over the embedded PostgreSQL. Restart the service.');
      } catch (error) {
        log(errorMessage(error));
        await sleep(pause);
      }
    }
  }
}

/** The server's port and the superuser's password. */
interface ServerAddress {
  port: number;
  password: string;
}

/** The key of the advisory lock, in database `postgres`: "SBOX" in ASCII. */
const LOCK_KEY = 0x53424f58;
/** How long a killed service may keep its lock: until the server notices the closed connection. */
const ACQUIRE_TIMEOUT_MS = 1_000;

const LOCK_RETRY_MS = 50;

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
      for (let waited = 0; ; waited += LOCK_RETRY_MS) {
        const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [LOCK_KEY]);
        if (rows[0]?.taken) return { lock: new OwnerLock(client) };
        if (waited >= ACQUIRE_TIMEOUT_MS) break;
        await sleep(LOCK_RETRY_MS);
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
      await sleep(LOCK_RETRY_MS);
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
