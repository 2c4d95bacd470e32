import { DomainError } from '../../core/domain-error.js';

const MAX_RECORDS = 500;
/** In characters. Records with arguments and results are large, and a statement must finish within its time limit. */
const MAX_LENGTH = 1024 * 1024;
/** Later records go into another batch, so that they do not inherit a wait that is about to time out. */
const OPEN_FOR_MS = 500;

/** Records that one statement writes, all or none. */
export class AuditBatch {
  /** Lines of COPY's text format. */
  lines = '';
  count = 0;
  private readonly since = performance.now();
  private readonly settling = Promise.withResolvers<void>();
  private readonly timer: NodeJS.Timeout;

  /** @param waitMs after this time, waiting callers get an error. The records may still be written. */
  constructor(waitMs: number) {
    // Callers may not await an entry's end. An unhandled rejection would end the process.
    this.settling.promise.catch(() => undefined);
    this.timer = setTimeout(() => this.fail(notRecorded()), waitMs);
  }

  /** Resolves when the records are in the database. */
  get stored(): Promise<void> {
    return this.settling.promise;
  }

  get isOpen(): boolean {
    return this.count < MAX_RECORDS && this.lines.length < MAX_LENGTH && performance.now() - this.since < OPEN_FOR_MS;
  }

  add(line: string): void {
    this.lines += line;
    this.count++;
  }

  succeed(): void {
    clearTimeout(this.timer);
    this.settling.resolve();
  }

  fail(error: DomainError): void {
    clearTimeout(this.timer);
    this.settling.reject(error);
  }
}

/** The error for an invocation that cannot be recorded. */
export function notRecorded(cause?: unknown): DomainError {
  return new DomainError('storage_unavailable', 'The tool call could not be recorded.', [], {
    cause,
    headers: { 'retry-after': '1' },
  });
}
