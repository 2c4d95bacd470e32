import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from './domain-error.js';
import { toDomainError, unexpectedCause } from './to-domain-error.js';

/**
 * Responds to every error of a route. It logs unexpected errors with their cause; the subclass determines the format.
 */
export abstract class ErrorResponder {
  private readonly logger = new Logger(this.constructor.name);

  respondWithError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = toDomainError(thrown);
    const cause = unexpectedCause(error);
    if (cause)
      this.logger.error({ request_id: request.id, err: cause }, 'Responded to a request with an unexpected error');
    if (!reply.sent && !reply.raw.headersSent) this.sendError(error, request, reply);
  }

  protected abstract sendError(error: DomainError, request: FastifyRequest, reply: FastifyReply): void;
}
