import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PROBLEM_CONTENT_TYPE, problemDetails } from './problem-details.js';
import { toDomainError, unexpectedCause } from './to-domain-error.js';

/** Answers every error outside JSON-RPC as a problem document (RFC 9457). */
@Catch()
@Injectable()
export class ProblemDetailsFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemDetailsFilter.name);

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = toDomainError(thrown);
    const cause = unexpectedCause(error);
    if (cause) this.logger.error({ request_id: request.id, err: cause }, 'An unexpected error was answered');
    if (reply.sent || reply.raw.headersSent) return;
    void reply
      .status(error.status)
      .headers(error.headers)
      .header('content-type', PROBLEM_CONTENT_TYPE)
      .send(JSON.stringify(problemDetails(error, request.id)));
  }
}
