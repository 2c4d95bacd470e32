import type { Client, Connection, Submittable } from 'pg';
import { DatabaseClient } from '../../core/database-client.js';
import { COPY_COLUMNS } from './audit-record.js';

/**
 * One `COPY … FROM STDIN` for `Client.query`. Sends its lines without waiting for the server's CopyInResponse: if the
 * server rejects the statement, it skips the lines (PostgreSQL manual, "Message Flow", COPY Operations).
 */
class CopyIn implements Submittable {
  private readonly settling = Promise.withResolvers<void>();
  private stream: Connection['stream'] | undefined;

  /**
   * @param statement from `copyStatement`
   * @param lines if omitted, the server starts the statement and waits for `finish`
   */
  constructor(
    private readonly statement: Buffer,
    private lines?: string,
  ) {}

  /** Resolves when the rows are committed. */
  get done(): Promise<void> {
    return this.settling.promise;
  }

  submit(connection: Connection): void {
    const { statement, lines } = this;
    this.stream = connection.stream;
    this.stream.write(lines === undefined ? statement : Buffer.concat([statement, copied(lines)]));
  }

  /** Sends the lines of a statement that was started without them. */
  finish(lines: string): void {
    if (this.stream === undefined) this.lines = lines;
    else this.stream.write(copied(lines));
  }

  // Callbacks from the client to the active statement.
  handleCopyInResponse(): void {}
  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.settling.reject(error);
  }

  handleReadyForQuery(): void {
    this.settling.resolve();
  }
}

/** The wire form of a `COPY … FROM STDIN`. */
function copyStatement(sql: string): Buffer {
  return message('Q', `${sql}\0`);
}

const COPY_DONE = message('c', '');

/** CopyData and CopyDone. */
function copied(lines: string): Buffer {
  return Buffer.concat([message('d', lines), COPY_DONE]);
}

/** PostgreSQL manual, "Message Formats": a letter, a length that includes itself, the content. */
function message(letter: string, content: string): Buffer {
  const length = Buffer.byteLength(content);
  const buffer = Buffer.allocUnsafe(5 + length);
  buffer.write(letter);
  buffer.writeInt32BE(4 + length, 1);
  buffer.write(content, 5);
  return buffer;
}

const CONNECT_WITHIN_MS = 3_000;
const ANSWER_WITHIN_MS = 5_000;
const END_WITHIN_MS = 1_000;
/** An open statement holds a lock and a snapshot. It must not block migrations or vacuum for longer. */
const READY_FOR_MS = 20;
const COPY = copyStatement(`COPY audit_records (${COPY_COLUMNS}) FROM STDIN`);

/** `pg_stat_activity` shows the connection under this name. */
export const AUDIT_APPLICATION_NAME = 'signalbox-audit';

/** The connection on which a process writes its audit records. Opened when needed and discarded after any error. */
export class AuditConnection {
  private client: Client | undefined;
  /** A statement on `client` that waits for its lines. */
  private ready: CopyIn | undefined;
  private readyTimer: NodeJS.Timeout | undefined;

  constructor(private readonly databaseUrl: string) {}

  /**
   * Starts the statement of the next `copy`, which is half of the server's work, while an invocation is in progress.
   * Does nothing before the first copy. Do not call during a copy.
   */
  prepare(): void {
    const { client } = this;
    if (client === undefined || this.ready !== undefined) return;
    const statement = client.query(new CopyIn(COPY));
    // The next copy opens a new connection.
    statement.done.catch(() => this.discard(client));
    this.ready = statement;
    this.readyTimer = setTimeout(() => this.takeReady()?.finish(''), READY_FOR_MS);
  }

  /**
   * Inserts all lines, or none. Do not call again until the previous call settles.
   * @throws the error of `pg`. After a lost connection the lines may have been inserted nevertheless.
   */
  async copy(lines: string): Promise<void> {
    const client = (this.client ??= await this.connect());
    try {
      await withTimeout(client, this.begin(client, lines).done);
    } catch (error) {
      this.discard(client);
      throw error;
    }
  }

  /** Closes the connection, and destroys it if the server does not respond in time. */
  async end(): Promise<void> {
    const { client } = this;
    if (client === undefined) return;
    const unused = this.takeReady();
    this.client = undefined;
    const timer = setTimeout(() => client.connection.stream.destroy(), END_WITHIN_MS);
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
    // The next copy replaces a broken idle connection. Without a listener, its error would end the process.
    client.on('error', () => this.forget(client));
    client.on('end', () => this.forget(client));
    try {
      await client.connect();
      // A crash of PostgreSQL can lose the records of its last 0.6 s (three times wal_writer_delay). A durable commit
      // would take longer than the recorded call.
      await withTimeout(client, client.query('SET synchronous_commit = off'));
    } catch (error) {
      this.discard(client);
      throw error;
    }
    return client;
  }

  /** Does not wait for the end of a broken connection, which may never come. */
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

/** Limits the wait. The driver's `query_timeout` would leave a timer behind for each `CopyIn`. */
async function withTimeout<T>(client: Client, answer: Promise<T>): Promise<T> {
  const timer = setTimeout(() => client.connection.stream.destroy(), ANSWER_WITHIN_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}
