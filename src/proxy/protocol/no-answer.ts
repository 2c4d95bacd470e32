import type { FastifyReply, FastifyRequest } from 'fastify';
import { takesStream } from './inbound-message.js';

/**
 * Ends the exchange of a request that its client has cancelled, which gets no answer (MCP 2025-11-25, "Cancellation"):
 * with a stream without messages, or for a client that takes none with the status of messages without an answer.
 */
export async function sendNoAnswer({ headers }: FastifyRequest, reply: FastifyReply): Promise<void> {
  await (takesStream(headers) ? reply.status(200).type('text/event-stream').send('') : reply.status(202).send());
}
