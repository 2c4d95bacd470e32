import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { databaseNow } from '../../core/database-time.js';
import { HealthCheck } from '../../core/health-check.js';
import { AppConfig } from '../../core/config/app-config.js';
import { newId } from '../../core/ids.js';
import { isoTime } from '../../core/iso-time.js';
import { withTimeout } from '../../core/with-timeout.js';
import { notRecorded, AuditWriter, CallsInFlight } from './audit-writer.js';
import { AuditConnection } from './audit-connection.js';
import { type InvocationFacts, type InvocationOutcome, copyLine } from './audit-record.js';

const SOON_MS = 1_000;

/** An invocation in progress. */
export interface AuditEntry {
  /**
   * Records the end of the invocation; later calls do nothing. Resolves when the record is in the database. Answer the
   * invocation only after that.
   * @throws DomainError `storage_unavailable` if the record is not stored within 8 s, or within 1 s if the invocation
   *   failed because
   * a store was unavailable. It may still be written later.
   */
  close(outcome: InvocationOutcome): Promise<void>;
}

/** Records every tool invocation, allowed or denied, from every entry point. */
@Injectable()
export class AuditLog implements OnApplicationShutdown {
  private readonly calls = new CallsInFlight();
  private readonly writer: AuditWriter;

  constructor(config: AppConfig) {
    this.writer = new AuditWriter(new AuditConnection(config.databaseUrl), this.calls, new Logger(AuditLog.name));
  }

  /**
   * Starts the record of an invocation. Call before sending anything upstream.
   * @throws DomainError `storage_unavailable` while too many records wait for the database, or none was written for 8 s
   */
  openEntry(facts: InvocationFacts): AuditEntry {
    if (!this.writer.hasCapacity) throw notRecorded();
    const now = databaseNow();
    const at = isoTime(now);
    const call = this.calls.enter(now);
    this.writer.expect();
    let stored: Promise<void> | undefined;
    return {
      close: (outcome) => {
        if (stored !== undefined) return stored;
        this.calls.leave(call);
        const written = this.writer.write(copyLine(newId(), at, facts, outcome));
        stored = outcome.errorCode === 'storage_unavailable' ? storedSoon(written) : written;
        return stored;
      },
    };
  }

  /** Every invocation is rejected while this fails, even if the database already answers other clients. */
  @HealthCheck('audit')
  check(): void {
    if (!this.writer.hasCapacity) throw new Error('Audit records are not being written.');
  }

  /** Nest calls this after all requests are answered and all runs are handed over. */
  onApplicationShutdown(): Promise<void> {
    return this.writer.close();
  }
}

/**
 * The caller has waited for a store before: if it was the database, waiting for it again only delays the same answer.
 */
function storedSoon(written: Promise<void>): Promise<void> {
  return withTimeout(written, SOON_MS, () => {
    throw notRecorded();
  });
}
