import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';

/**
 * The requests of translated sessions that are under way in this process. A client of the legacy era cancels one with a message
 * of its own, which upstreams of the modern era do not know: there the end of the exchange says it.
 */
@Injectable()
export class CallsToCancel {
  private readonly deadlines = new Map<string, CallDeadline>();

  /** Until the reply is sent. @param sessionId as the caller sent it */
  add(sessionId: string, { id }: InboundRequest, deadline: CallDeadline, { raw }: FastifyReply): void {
    // A closed reply emits no further `close`.
    if (raw.destroyed) return;
    const key = keyOf(sessionId, JSON.parse(id));
    this.deadlines.set(key, deadline);
    raw.once('close', () => {
      // The id may have been used a second time meanwhile.
      if (this.deadlines.get(key) === deadline) this.deadlines.delete(key);
    });
  }

  /** @param message a notification or an answer; only `notifications/cancelled` has an effect */
  cancel(sessionId: string, { method, params }: InboundMessage): void {
    if (method === 'notifications/cancelled') this.deadlines.get(keyOf(sessionId, params['requestId']))?.cancel();
  }
}

function keyOf(sessionId: string, requestId: unknown): string {
  return `${sessionId} ${JSON.stringify(requestId)}`;
}
