import { Injectable } from '@nestjs/common';
import type { Meter } from '@opentelemetry/api';
import { CONNECTION_ID, ERROR_TYPE, MCP_GATEWAY_UNAVAILABLE, OTHER } from './names.js';

/** The number of connections with a label of their own in one process; further ones count as `other`. */
export const MAX_CONNECTIONS = 1000;

/**
 * Counts how often an agent was assembled without one of its connections, by connection and reason. The reasons are
 * constants of our own code, so only connections can make the list grow.
 */
@Injectable()
export class UnavailableLedger {
  /** Connection id → reason → count. */
  private readonly counts = new Map<string, Map<string, number>>();

  /** @param reason a stable code, such as `timeout` */
  count(connectionId: string, reason: string): void {
    const isOwn = this.counts.has(connectionId) || this.counts.size < MAX_CONNECTIONS;
    const label = isOwn ? connectionId : OTHER;
    const reasons = this.counts.get(label) ?? new Map<string, number>();
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    this.counts.set(label, reasons);
  }

  /** Reports the counts whenever metrics are collected. */
  observe(meter: Meter): void {
    meter
      .createObservableCounter(MCP_GATEWAY_UNAVAILABLE, {
        description: 'How often an agent was assembled without a connection that was unreachable, slow or inactive.',
      })
      .addCallback((result) => {
        for (const [connectionId, reasons] of this.counts) {
          for (const [reason, count] of reasons) {
            result.observe(count, { [CONNECTION_ID]: connectionId, [ERROR_TYPE]: reason });
          }
        }
      });
  }
}
