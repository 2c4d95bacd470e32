import { IncomingMessage } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from './domain-error.js';
import { ErrorResponder } from './error-responder.js';
import { PROBLEM_CONTENT_TYPE, problemDetails } from './problem-details.js';
import { toDomainError } from './to-domain-error.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Responds to the errors of the route in place of problem documents. Filters of other modules run before it. */
    answerError?: (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => void;
  }
}

/**
 * Responds to every error that no other filter catches: with a problem document (RFC 9457), unless the route has
 * another format.
 */
@Catch()
@Injectable()
export class ProblemDetailsFilter extends ErrorResponder implements ExceptionFilter {
  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest | IncomingMessage>();
    // Middleware has Node's request and response. Fastify passes the rethrown error to this filter again, with its own.
    if (request instanceof IncomingMessage) return http.getNext<(error: DomainError) => void>()(toDomainError(thrown));
    const reply = http.getResponse<FastifyReply>();
    const { answerError } = request.routeOptions.config;
    if (answerError === undefined) this.respondWithError(thrown, request, reply);
    else answerError(thrown, request, reply);
  }

  protected sendError(error: DomainError, request: FastifyRequest, reply: FastifyReply): void {
    void reply
      .status(error.status)
      .headers(error.headers)
      .header('content-type', PROBLEM_CONTENT_TYPE)
      .send(JSON.stringify(problemDetails(error, request.id)));
  }
}
