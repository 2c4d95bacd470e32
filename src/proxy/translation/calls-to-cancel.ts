import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';

/**
 * The active requests of translated sessions in this process. A client of the legacy era cancels a request with a notification.
 * Upstreams of the modern era do not know that notification; for them, ending the exchange cancels the request.
 */
@Injectable()
export class CallsToCancel {
  private readonly deadlines = new Map<string, CallDeadline>();

  /** Makes a request cancellable until its reply is sent. @param sessionId as the caller sent it */
  trackRequest(sessionId: string, { id }: InboundRequest, deadline: CallDeadline, { raw }: FastifyReply): void {
    // A closed reply emits no further `close`.
    if (raw.destroyed) return;
    const key = keyOf(sessionId, JSON.parse(id));
    this.deadlines.set(key, deadline);
    raw.once('close', () => {
      // The caller may have reused the id in the meantime.
      if (this.deadlines.get(key) === deadline) this.deadlines.delete(key);
    });
  }

  /** @param message a notification or an answer; only `notifications/cancelled` has an effect */
  cancelRequest(sessionId: string, { method, params }: InboundMessage): void {
    if (method === 'notifications/cancelled') this.deadlines.get(keyOf(sessionId, params['requestId']))?.cancel();
  }
}

function keyOf(sessionId: string, requestId: unknown): string {
  return `${sessionId} ${JSON.stringify(requestId)}`;
}
