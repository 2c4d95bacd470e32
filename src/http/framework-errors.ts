import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { PROBLEM_CONTENT_TYPE, problemDetails } from '../common/problem-details.js';
import { toDomainError } from '../common/to-domain-error.js';
import { logRequest, REQUEST_ID_HEADER } from './request-log.js';
import { SECURITY_HEADERS } from '../common/security-headers.js';

type FrameworkErrorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Answers what Fastify's router refuses before any hook or filter of ours runs: URLs that cannot be decoded and path
 * parameters that are too long. It does by hand what hooks and filter do for every other request.
 */
export function answerFrameworkErrors(logger: Logger): FrameworkErrorHandler {
  return (thrown, request, reply) => {
    const error = toDomainError(thrown);
    reply.raw.once('finish', () => logRequest(logger, request, reply));
    void reply
      .status(error.status)
      .headers(SECURITY_HEADERS)
      .header(REQUEST_ID_HEADER, request.id)
      .header('content-type', PROBLEM_CONTENT_TYPE)
      .send(JSON.stringify(problemDetails(error, request.id)));
  };
}
