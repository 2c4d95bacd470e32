import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../core/retry.js';
import { toDomainError } from '../../core/to-domain-error.js';
import type { AuditConnection } from './audit-connection.js';
import { DomainError } from '../../core/domain-error.js';

const MAX_BATCH_RECORDS = 500;
/** In characters. Records with arguments and results are large, and a statement must finish within its time limit. */
const MAX_BATCH_LENGTH = 1024 * 1024;
/** Later records go into another batch, so that they do not inherit a wait that is about to time out. */
const OPEN_FOR_MS = 500;

/** Records that one statement writes, all or none. */
class AuditBatch {
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
    return (
      this.count < MAX_BATCH_RECORDS &&
      this.lines.length < MAX_BATCH_LENGTH &&
      performance.now() - this.since < OPEN_FOR_MS
    );
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

const PERIOD_MS = 16;

/**
 * Counts the calls in progress that will probably end soon: those that started within the last 16 to 32 ms. Older calls
 * are slow and do not predict when the next record arrives.
 */
export class CallsInFlight {
  private period = 0;
  private ofThisPeriod = 0;
  private ofLastPeriod = 0;

  get count(): number {
    return this.ofThisPeriod + this.ofLastPeriod;
  }

  /**
   * Counts a call.
   * @param now milliseconds; clock steps are harmless
   * @returns the argument for `leave`
   */
  enter(now: number): number {
    const period = Math.floor(now / PERIOD_MS);
    if (period !== this.period) {
      this.ofLastPeriod = period === this.period + 1 ? this.ofThisPeriod : 0;
      this.ofThisPeriod = 0;
      this.period = period;
    }
    this.ofThisPeriod++;
    return period;
  }

  leave(period: number): void {
    if (period === this.period) this.ofThisPeriod--;
    else if (period === this.period - 1 && this.ofLastPeriod > 0) this.ofLastPeriod--;
  }
}

/** Limit of records that wait for the database; beyond it, invocations are rejected. A record takes about 400 bytes. */
const MAX_WAITING = 20_000;
/** The same limit in characters: a record with arguments and result is much larger. */
const MAX_WAITING_LENGTH = 64 * 1024 * 1024;
/** Beyond this size, the cost per record hardly decreases. */
const ENOUGH_RECORDS = 16;
const GATHER_MS = 1;
/** Under higher load, starting a statement early costs two system calls that the thread cannot spare. */
const FEW_CALLS = 4;
/** Longer than a restart of PostgreSQL, including the delay between two attempts. */
const WAIT_MS = 8_000;
const FLUSH_WITHIN_MS = 5_000;

const LOST = 'Audit records were lost';

/** Receives the writer's warnings and errors. */
export interface AuditWriterLog {
  warn(message: string): void;
  error(facts: object, message: string): void;
}

/**
 * Writes records in batches, one statement at a time. The main cost of a record is its share of a statement. While more
 * calls are in progress than records are waiting, a batch therefore waits up to 1 ms for further records: a busy
 * service then writes the records of one half of its callers while it serves the other half. A lone call is written
 * immediately.
 *
 * While the database is unavailable, batches are kept and retried, even after their callers have timed out. If a batch
 * was written but the reply was lost, its ids conflict on the retry, so it is never written twice.
 */
export class AuditWriter {
  private readonly batches: AuditBatch[] = [];
  private readonly stopping = new AbortController();
  private waiting = 0;
  private waitingLength = 0;
  private writing: Promise<void> | undefined;
  private scheduled: NodeJS.Immediate | undefined;
  private preparing: NodeJS.Immediate | undefined;
  private gatherTimer: NodeJS.Timeout | undefined;
  /** When the first of the failing attempts failed. */
  private failingSince: number | undefined;
  private closing = false;

  constructor(
    private readonly connection: AuditConnection,
    private readonly calls: CallsInFlight,
    private readonly log: AuditWriterLog,
    private readonly limits = {
      maxWaiting: MAX_WAITING,
      maxWaitingLength: MAX_WAITING_LENGTH,
      waitMs: WAIT_MS,
      flushWithinMs: FLUSH_WITHIN_MS,
    },
  ) {}

  /**
   * True if another invocation can start. It cannot while its record would probably be lost: a tool must not run for a
   * caller who then waits for nothing. Invocations in progress can exceed the limits.
   */
  get hasCapacity(): boolean {
    if (this.failingSince !== undefined && performance.now() - this.failingSince > this.limits.waitMs) return false;
    return this.waiting < this.limits.maxWaiting && this.waitingLength < this.limits.maxWaitingLength;
  }

  /** Announces the start of an invocation, so that the database can prepare for its record meanwhile. */
  expect(): void {
    if (this.preparing !== undefined) return;
    // Wait until the upstream request is sent: undici checks an idle connection for the rest of this turn before it
    // uses it.
    this.preparing = setImmediate(() => {
      this.preparing = setImmediate(() => {
        this.preparing = undefined;
        if (this.writing === undefined && this.calls.count <= FEW_CALLS) this.connection.prepare();
      });
    });
  }

  /** Resolves when the line is in the database. @throws DomainError `storage_unavailable` */
  write(line: string): Promise<void> {
    let batch = this.batches.at(-1);
    if (batch?.isOpen !== true) {
      batch = new AuditBatch(this.limits.waitMs);
      this.batches.push(batch);
    }
    batch.add(line);
    this.waiting++;
    this.waitingLength += line.length;
    if (this.writing === undefined) {
      // No other call is in progress that the batch could wait for.
      if (this.calls.count === 0) this.writeOrGather();
      else this.scheduleWrite();
    }
    return batch.stored;
  }

  /** Writes waiting records for at most 5 s, then closes the connection. Later records are still written. */
  async close(): Promise<void> {
    this.closing = true;
    const timer = setTimeout(() => this.stopping.abort(), this.limits.flushWithinMs);
    while (this.batches.length > 0 || this.writing !== undefined) await (this.writing ?? this.writeNext());
    clearTimeout(timer);
    await this.connection.end();
  }

  /** Waits for the end of this turn of the event loop, in which more calls can end or start. */
  private scheduleWrite(): void {
    this.scheduled ??= setImmediate(() => {
      this.scheduled = undefined;
      if (this.writing === undefined) this.writeOrGather();
    });
  }

  private writeOrGather(): void {
    const [first, second] = this.batches;
    if (first === undefined) return;
    if (second !== undefined || this.closing || first.count >= Math.min(ENOUGH_RECORDS, this.calls.count)) {
      void this.writeNext();
    } else {
      this.gatherTimer ??= setTimeout(() => void this.writeNext(), GATHER_MS);
    }
  }

  private writeNext(): Promise<void> {
    clearTimeout(this.gatherTimer);
    this.gatherTimer = undefined;
    this.writing ??= this.writeFirst().finally(() => {
      this.writing = undefined;
      if (this.batches.length > 0) this.scheduleWrite();
    });
    return this.writing;
  }

  private async writeFirst(): Promise<void> {
    const batch = this.batches.shift();
    if (batch === undefined) return;
    await this.store(batch);
    this.waiting -= batch.count;
    this.waitingLength -= batch.lines.length;
    if (this.closing && this.batches.length === 0) await this.connection.end();
  }

  private async store(batch: AuditBatch): Promise<void> {
    const { signal } = this.stopping;
    for (let attempt = 1; ; attempt++) {
      const error = await this.attempt(batch);
      if (error === undefined) return;
      if (isPermanent(error) || signal.aborted) {
        // Log only the code: PostgreSQL's message quotes the record.
        this.log.error({ code: toDomainError(error).code, reason: codeOf(error), records: batch.count }, LOST);
        batch.fail(isPermanent(error) ? toDomainError(error) : notRecorded(error));
        return;
      }
      if (this.failingSince === undefined) this.log.warn(`Failed to write audit records; retrying (${codeOf(error)})`);
      this.failingSince ??= performance.now();
      await sleep(backoffMs(attempt), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns the error if the batch could not be stored. */
  private async attempt(batch: AuditBatch): Promise<unknown> {
    try {
      await this.connection.copy(batch.lines);
    } catch (error) {
      if (!isStoredAlready(error)) return error;
    }
    if (this.failingSince !== undefined) this.log.warn('Audit records are being written again');
    this.failingSince = undefined;
    batch.succeed();
    return undefined;
  }
}

/** Record ids are unique, so only an earlier attempt whose reply was lost can have written them. */
function isStoredAlready(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/** Retrying does not resolve data, constraint, syntax and access errors (PostgreSQL manual, Appendix A). */
function isPermanent(error: unknown): boolean {
  return ['22', '23', '42'].includes(codeOf(error).slice(0, 2));
}

/** PostgreSQL's SQLSTATE, or the system error code of the connection. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
