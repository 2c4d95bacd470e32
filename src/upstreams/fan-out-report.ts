import { Injectable } from '@nestjs/common';
import { DomainError } from '../common/domain-error.js';
import { UnavailableLedger } from '../telemetry/unavailable-ledger.js';
import { UpstreamError } from './contract/upstream-error.js';

/** Reports the connections that are missing from a list that was asked of several (metric `mcp.gateway.unavailable`). */
@Injectable()
export class FanOutReport {
  constructor(private readonly ledger: UnavailableLedger) {}

  /** A connection was not asked, because of its status. */
  unasked(connectionId: string, status: 'inactive' | 'error'): void {
    this.ledger.count(connectionId, status);
  }

  /** A connection did not answer within the time that the list had. */
  late(connectionId: string): void {
    this.ledger.count(connectionId, 'timeout');
  }

  /** A connection was asked in vain. @param error why; its kind is counted, its text is not */
  failed(connectionId: string, error: unknown): void {
    this.ledger.count(connectionId, reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UpstreamError) return error.kind;
  return error instanceof DomainError ? error.code : 'protocol';
}
