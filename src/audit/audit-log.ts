import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { newId } from '../common/ids.js';
import { isoTime } from '../common/iso-time.js';
import { notRecorded } from './audit-batch.js';
import { AuditConnection } from './audit-connection.js';
import type { InvocationFacts, InvocationOutcome } from './audit-record.js';
import { AuditWriter } from './audit-writer.js';
import { CallsInFlight } from './calls-in-flight.js';
import { copyLine } from './copy-line.js';

/** An invocation that has begun. */
export interface AuditEntry {
  /**
   * Records the end of the invocation; a second call changes nothing. Resolves when the record is in the database, and only
   * then the invocation may be answered.
   * @throws DomainError `storage_unavailable` when the record is not in the database after 8 s; it may still be written
   */
  close(outcome: InvocationOutcome): Promise<void>;
}

/** The record of every tool invocation, allowed or denied, from every entry point. */
@Injectable()
export class AuditLog implements OnApplicationShutdown {
  private readonly calls = new CallsInFlight();
  private readonly writer: AuditWriter;

  constructor(config: AppConfig) {
    this.writer = new AuditWriter(new AuditConnection(config.databaseUrl), this.calls, new Logger(AuditLog.name));
  }

  /**
   * Begins the record of an invocation, before anything is sent upstream.
   * @throws DomainError `storage_unavailable` while too many records wait for the database: it could not be recorded
   */
  open(facts: InvocationFacts): AuditEntry {
    if (!this.writer.hasRoom) throw notRecorded();
    const now = Date.now();
    const at = isoTime(now);
    const call = this.calls.enter(now);
    this.writer.expect();
    let stored: Promise<void> | undefined;
    return {
      close: (outcome) => {
        if (stored !== undefined) return stored;
        this.calls.leave(call);
        stored = this.writer.write(copyLine(newId(), at, facts, outcome));
        return stored;
      },
    };
  }

  /** By now all requests are answered and all runs handed over. */
  onApplicationShutdown(): Promise<void> {
    return this.writer.close();
  }
}
