import type { Connection, Submittable } from 'pg';

/**
 * One `COPY … FROM STDIN` for `Client.query`. Statement, data and end go out in one piece, without waiting for the server's
 * readiness to copy: should it refuse the statement, it skips the rest (PostgreSQL manual, "Message Flow", COPY Operations).
 */
export class CopyIn implements Submittable {
  private readonly settling = Promise.withResolvers<void>();

  constructor(
    private readonly statement: string,
    private readonly lines: string,
  ) {}

  /** Resolves when the rows are committed. */
  get done(): Promise<void> {
    return this.settling.promise;
  }

  submit(connection: Connection): void {
    connection.stream.write(copyMessages(this.statement, this.lines));
  }

  // What the client tells the statement that runs on it.
  handleCopyInResponse(): void {}
  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.settling.reject(error);
  }

  handleReadyForQuery(): void {
    this.settling.resolve();
  }
}

/** Query, CopyData and CopyDone, as "Message Formats" of the PostgreSQL manual has them: a letter, a length that counts itself, the content. */
function copyMessages(statement: string, lines: string): Buffer {
  const statementLength = Buffer.byteLength(statement) + 1;
  const linesLength = Buffer.byteLength(lines);
  const buffer = Buffer.allocUnsafe(5 + statementLength + 5 + linesLength + 5);
  let offset = header(buffer, 0, 'Q', statementLength);
  offset += buffer.write(`${statement}\0`, offset);
  offset = header(buffer, offset, 'd', linesLength);
  offset += buffer.write(lines, offset);
  header(buffer, offset, 'c', 0);
  return buffer;
}

function header(buffer: Buffer, offset: number, letter: string, contentLength: number): number {
  buffer.write(letter, offset);
  return buffer.writeInt32BE(4 + contentLength, offset + 1);
}
