import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { urlWithoutCredentials } from '../common/credential-forms.js';
import { LogContext } from '../common/log-context.js';
import { SECURITY_HEADERS } from '../common/security-headers.js';

export const REQUEST_ID_HEADER = 'x-request-id';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the body is read. */
    logContext: LogContext | null;
  }
}

/**
 * Gives every response its request id and the headers that all have, and every request its line in the log, when its response has
 * ended. Lines that its handler logs have the request id too.
 */
export function registerRequestLog(fastify: FastifyInstance, parent: Logger): void {
  // Nothing in these lines could hold a secret, and looking for one in each of them costs more than writing it.
  const logger = parent.child({}, { redact: [] });
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header(REQUEST_ID_HEADER, request.id);
    done();
  });
  fastify.decorateRequest('logContext', null);
  // Reading the body loses what was set before it.
  fastify.addHook('preHandler', (request, _reply, done) => {
    request.logContext = new LogContext({ request_id: request.id });
    request.logContext.run(done);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    request.logContext?.end();
    logRequest(logger, request, reply);
    done();
  });
}

/**
 * One structured line. Paths are logged without their query and headers and bodies not at all: that is where secrets are.
 */
export function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  logger.info(
    {
      request_id: request.id,
      method: request.method,
      path: urlWithoutCredentials(request.url.split('?', 1)[0] ?? ''),
      route: request.routeOptions.url,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 100) / 100,
      organization: request.principal?.organization.slug,
      principal_kind: request.principal?.kind ?? 'anonymous',
      api_key_id: request.principal?.apiKeyId,
    },
    'request',
  );
}
