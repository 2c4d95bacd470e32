import type { Client } from 'pg';
import { DatabaseClient } from '../common/database-client.js';
import { COPY_COLUMNS } from './copy-line.js';
import { CopyIn, copyStatement } from './copy-in.js';

const CONNECT_WITHIN_MS = 3_000;
const ANSWER_WITHIN_MS = 5_000;
const GOODBYE_WITHIN_MS = 1_000;
/** An open statement holds a lock and a snapshot: it must not stand in the way of migrations or of vacuum. */
const READY_FOR_MS = 20;
const COPY = copyStatement(`COPY audit_records (${COPY_COLUMNS}) FROM STDIN`);

/** `pg_stat_activity` shows the connection under this name. */
export const AUDIT_APPLICATION_NAME = 'signalbox-audit';

/** The connection on which a process writes its audit records: made when it is needed, and given up after any error. */
export class AuditConnection {
  private client: Client | undefined;
  /** Of `client`: a statement that waits for its lines. */
  private ready: CopyIn | undefined;
  private readyTimer: NodeJS.Timeout | undefined;

  constructor(private readonly databaseUrl: string) {}

  /**
   * Has the server make ready for the next `copy`, which is half of its work, while an invocation is on its way. Does nothing
   * before the first copy. Not to be called while one is going on.
   */
  prepare(): void {
    const { client } = this;
    if (client === undefined || this.ready !== undefined) return;
    const statement = client.query(new CopyIn(COPY));
    // The next copy makes a new connection.
    statement.done.catch(() => this.discard(client));
    this.ready = statement;
    this.readyTimer = setTimeout(() => this.takeReady()?.finish(''), READY_FOR_MS);
  }

  /**
   * Inserts all lines, or none. Not to be called before the call before has ended.
   * @throws whatever `pg` throws. After a lost connection the lines may be there nevertheless.
   */
  async copy(lines: string): Promise<void> {
    const client = (this.client ??= await this.connect());
    try {
      await answerOf(client, this.begin(client, lines).done);
    } catch (error) {
      this.discard(client);
      throw error;
    }
  }

  /** Says goodbye to the server, without waiting long for its answer. */
  async end(): Promise<void> {
    const { client } = this;
    if (client === undefined) return;
    const unused = this.takeReady();
    this.client = undefined;
    const timer = setTimeout(() => client.connection.stream.destroy(), GOODBYE_WITHIN_MS);
    unused?.finish('');
    await unused?.done.catch(() => undefined);
    await client.end();
    clearTimeout(timer);
  }

  private begin(client: Client, lines: string): CopyIn {
    const ready = this.takeReady();
    ready?.finish(lines);
    return ready ?? client.query(new CopyIn(COPY, lines));
  }

  private takeReady(): CopyIn | undefined {
    const { ready } = this;
    clearTimeout(this.readyTimer);
    this.ready = undefined;
    return ready;
  }

  private async connect(): Promise<Client> {
    const client = new DatabaseClient({
      connectionString: this.databaseUrl,
      application_name: AUDIT_APPLICATION_NAME,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      keepAlive: true,
    });
    // An idle connection that breaks is replaced at the next use; without a listener its error would end the process.
    client.on('error', () => this.forget(client));
    client.on('end', () => this.forget(client));
    try {
      await client.connect();
      // Committed is enough: a crash of PostgreSQL itself may cost the records of its last moments (three times
      // wal_writer_delay, 0.6 s); waiting for the disk would cost every call more than the call.
      await answerOf(client, client.query('SET synchronous_commit = off'));
    } catch (error) {
      this.discard(client);
      throw error;
    }
    return client;
  }

  /** A broken connection may never tell its end: nobody waits for it. */
  private discard(client: Client): void {
    this.forget(client);
    client.connection.stream.destroy();
  }

  private forget(client: Client): void {
    if (this.client !== client) return;
    this.takeReady();
    this.client = undefined;
  }
}

/** Waits no longer than the limit. The driver's own `query_timeout` would leave a timer behind for each `CopyIn`. */
async function answerOf<T>(client: Client, answer: Promise<T>): Promise<T> {
  const timer = setTimeout(() => client.connection.stream.destroy(), ANSWER_WITHIN_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}
