import { DomainError } from '../common/domain-error.js';

const MAX_RECORDS = 500;
/** Those with arguments and results are large, and a statement has to be done in time. In characters. */
const MAX_LENGTH = 1024 * 1024;
/** Later records go into another batch, so that they do not inherit a wait that is nearly over. */
const OPEN_FOR_MS = 500;

/** Records that are written by one statement, all or none. */
export class AuditBatch {
  /** Lines of COPY's text format. */
  lines = '';
  count = 0;
  private readonly since = performance.now();
  private readonly settling = Promise.withResolvers<void>();
  private readonly timer: NodeJS.Timeout;

  /** @param waitMs after this long those who wait hear that the record is not there; it may still come. */
  constructor(waitMs: number) {
    // Whoever closes an entry may not wait for it; that must not end the process.
    this.settling.promise.catch(() => undefined);
    this.timer = setTimeout(() => this.fail(notRecorded()), waitMs);
  }

  /** Resolves when the records are in the database. */
  get stored(): Promise<void> {
    return this.settling.promise;
  }

  get takesMore(): boolean {
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

/** What a caller hears whose invocation cannot be recorded. */
export function notRecorded(cause?: unknown): DomainError {
  return new DomainError('storage_unavailable', 'The invocation cannot be recorded right now.', [], {
    cause,
    headers: { 'retry-after': '1' },
  });
}
