import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../common/retry.js';
import { toDomainError } from '../common/to-domain-error.js';
import { AuditBatch, notRecorded } from './audit-batch.js';
import type { AuditConnection } from './audit-connection.js';
import type { CallsInFlight } from './calls-in-flight.js';

/** Records that may wait for the database at once, before new invocations are refused. A record takes about 400 bytes. */
const MAX_WAITING = 20_000;
/** The same in characters: a record that holds arguments and result is much larger. */
const MAX_WAITING_LENGTH = 64 * 1024 * 1024;
/** More records in one statement make each hardly cheaper. */
const ENOUGH_RECORDS = 16;
const GATHER_MS = 1;
/** With more on their way the thread has no time to spare, and beginning a statement early costs it two system calls. */
const FEW_CALLS = 4;
/** Longer than a restart of PostgreSQL takes, with the pause between two attempts. */
const WAIT_MS = 8_000;
const FLUSH_WITHIN_MS = 5_000;

const LOST = 'Audit records are lost';

/** Who hears what goes wrong. */
export interface AuditWriterLog {
  warn(message: string): void;
  error(facts: object, message: string): void;
}

/**
 * Writes records in batches, one statement at a time. What a record costs is mostly its share of a statement, so it waits
 * for company, up to 1 ms, while more calls are on their way than records are waiting: half of the callers of a busy
 * service are then written while the other half is served. A lone call is written at once.
 *
 * While the database is away batches are kept and tried again, also when nobody waits for them any longer. A batch that was
 * written though its answer was lost is refused as a whole by its ids, and so never written twice.
 */
export class AuditWriter {
  private readonly batches: AuditBatch[] = [];
  private readonly stopping = new AbortController();
  private waiting = 0;
  private waitingLength = 0;
  private writing: Promise<void> | undefined;
  private looking: NodeJS.Immediate | undefined;
  private preparing: NodeJS.Immediate | undefined;
  private gathering: NodeJS.Timeout | undefined;
  private away = false;
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

  /** Is there room for the record of another invocation? Those that have begun may exceed it. */
  get hasRoom(): boolean {
    return this.waiting < this.limits.maxWaiting && this.waitingLength < this.limits.maxWaitingLength;
  }

  /** An invocation has begun. While it is on its way the database can make ready for its record. */
  expect(): void {
    if (this.preparing !== undefined) return;
    // Not before the request upstream is sent: undici looks at an idle connection for the rest of this turn before it uses it.
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
    if (batch?.takesMore !== true) {
      batch = new AuditBatch(this.limits.waitMs);
      this.batches.push(batch);
    }
    batch.add(line);
    this.waiting++;
    this.waitingLength += line.length;
    if (this.writing === undefined) {
      // Nobody else is on the way whom it could wait for.
      if (this.calls.count === 0) this.writeOrGather();
      else this.lookSoon();
    }
    return batch.stored;
  }

  /** Writes what waits, for 5 s at most, and ends the connection. A record that comes later is still written. */
  async close(): Promise<void> {
    this.closing = true;
    const timer = setTimeout(() => this.stopping.abort(), this.limits.flushWithinMs);
    while (this.batches.length > 0 || this.writing !== undefined) await (this.writing ?? this.writeNext());
    clearTimeout(timer);
    await this.connection.end();
  }

  /** After this turn of the event loop, in which more calls may end or begin. */
  private lookSoon(): void {
    this.looking ??= setImmediate(() => {
      this.looking = undefined;
      if (this.writing === undefined) this.writeOrGather();
    });
  }

  private writeOrGather(): void {
    const [first, second] = this.batches;
    if (first === undefined) return;
    if (second !== undefined || this.closing || first.count >= Math.min(ENOUGH_RECORDS, this.calls.count)) {
      void this.writeNext();
    } else {
      this.gathering ??= setTimeout(() => void this.writeNext(), GATHER_MS);
    }
  }

  private writeNext(): Promise<void> {
    clearTimeout(this.gathering);
    this.gathering = undefined;
    this.writing ??= this.writeFirst().finally(() => {
      this.writing = undefined;
      this.lookSoon();
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
      if (isRefused(error) || signal.aborted) {
        // PostgreSQL's own words quote the record.
        this.log.error({ code: toDomainError(error).code, reason: codeOf(error), records: batch.count }, LOST);
        batch.fail(isRefused(error) ? toDomainError(error) : notRecorded(error));
        return;
      }
      if (!this.away) this.log.warn(`Audit records cannot be written and will be tried again (${codeOf(error)})`);
      this.away = true;
      await sleep(backoffMs(attempt), undefined, { signal }).catch(() => undefined);
    }
  }

  /** The error that kept the batch from being stored. */
  private async attempt(batch: AuditBatch): Promise<unknown> {
    try {
      await this.connection.copy(batch.lines);
    } catch (error) {
      if (!isStoredAlready(error)) return error;
    }
    if (this.away) this.log.warn('Audit records are written again');
    this.away = false;
    batch.succeed();
    return undefined;
  }
}

/** Our ids are new: only an earlier attempt at the same batch, whose answer was lost, can have written them. */
function isStoredAlready(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/** Data, constraint, syntax and access errors (PostgreSQL manual, Appendix A) do not go away by trying again. */
function isRefused(error: unknown): boolean {
  return ['22', '23', '42'].includes(codeOf(error).slice(0, 2));
}

/** PostgreSQL's SQLSTATE, or the system's word for what befell the connection. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
