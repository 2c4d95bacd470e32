import type { FastifyRequest } from 'fastify';
import { isRecord } from '../../core/is-record.js';
import type { InboundMessage } from './inbound-message.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the request, or the one that opened its session, declares `elicitation.url`. */
    hasUrlElicitation?: boolean;
  }
}

export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/**
 * True if the message declares that its client asks people to open URLs (MCP 2025-11-25, "URL Mode Elicitation"). The
 * capabilities are those of `initialize`, or in the modern era those of each request.
 */
export function declaresUrlElicitation({ params }: Pick<InboundMessage, 'params'>): boolean {
  const meta = params['_meta'];
  const capabilities =
    isRecord(meta) && CLIENT_CAPABILITIES in meta ? meta[CLIENT_CAPABILITIES] : params['capabilities'];
  return (
    isRecord(capabilities) && isRecord(capabilities['elicitation']) && isRecord(capabilities['elicitation']['url'])
  );
}

/** True if the client of this request asks people to open URLs. */
export function hasUrlElicitation(request: FastifyRequest, message: Pick<InboundMessage, 'params'>): boolean {
  return request.hasUrlElicitation === true || declaresUrlElicitation(message);
}
