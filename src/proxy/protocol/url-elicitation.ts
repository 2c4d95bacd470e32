import type { FastifyRequest } from 'fastify';
import { isRecord } from '../../core/is-record.js';
import { clientCapabilitiesOf, type InboundMessage } from './inbound-message.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the request, or the one that opened its session, declares `elicitation.url`. */
    hasUrlElicitation?: boolean;
  }
}

/** True if the message declares that its client asks people to open URLs (MCP 2025-11-25, "URL Mode Elicitation"). */
export function declaresUrlElicitation(message: Pick<InboundMessage, 'params'>): boolean {
  const capabilities = clientCapabilitiesOf(message);
  return (
    isRecord(capabilities) && isRecord(capabilities['elicitation']) && isRecord(capabilities['elicitation']['url'])
  );
}

/** True if the client of this request asks people to open URLs. */
export function hasUrlElicitation(request: FastifyRequest, message: Pick<InboundMessage, 'params'>): boolean {
  return request.hasUrlElicitation === true || declaresUrlElicitation(message);
}
