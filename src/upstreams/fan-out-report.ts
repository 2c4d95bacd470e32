import { Injectable } from '@nestjs/common';
import { DomainError } from '../core/domain-error.js';
import { UnavailableLedger } from '../platform/telemetry/unavailable-ledger.js';
import { UpstreamError } from './contract/upstream-error.js';

/** Reports the connections that are missing from a list composed of several (metric `mcp.gateway.unavailable`). */
@Injectable()
export class FanOutReport {
  constructor(private readonly ledger: UnavailableLedger) {}

  /** Reports a connection that was skipped because of its status. */
  unasked(connectionId: string, status: 'inactive' | 'error'): void {
    this.ledger.count(connectionId, status);
  }

  /** Reports a connection that did not answer within the time limit of the list. */
  late(connectionId: string): void {
    this.ledger.count(connectionId, 'timeout');
  }

  /** Reports a connection that failed. @param error whose kind, but not its text, is counted */
  failed(connectionId: string, error: unknown): void {
    this.ledger.count(connectionId, reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UpstreamError) return error.kind;
  return error instanceof DomainError ? error.code : 'protocol';
}
