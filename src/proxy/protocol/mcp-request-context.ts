import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntryPoint } from '../../audit/calls/audit-record.js';
import type { InboundMessage } from './inbound-message.js';
import type { ProxyCaller } from './proxy-caller.js';

/**
 * One request of the MCP transport, from the controller to the answer. It is immutable: a request that continues to
 * another connection (a tool of an agent) or with another message (a translated one) gets a modified copy.
 */
export interface McpRequestContext<M extends InboundMessage = InboundMessage> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Recorded with every tool call. */
  readonly entryPoint: EntryPoint;
  /** The sender of the message, and the connection or agent that it addresses. */
  readonly caller: ProxyCaller;
  readonly message: M;
}
