import type { Connection, Submittable } from 'pg';

/**
 * One `COPY … FROM STDIN` for `Client.query`. Sends its lines without waiting for the server's CopyInResponse: if the
 * server rejects the statement, it skips the lines (PostgreSQL manual, "Message Flow", COPY Operations).
 */
export class CopyIn implements Submittable {
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
export function copyStatement(sql: string): Buffer {
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
