import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { urlWithoutCredentials } from '../../core/credential-forms.js';
import { LogContext } from '../../core/log-context.js';
import { SECURITY_HEADERS } from '../../core/security-headers.js';

export const REQUEST_ID_HEADER = 'x-request-id';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the body is read. */
    logContext: LogContext | null;
  }
}

/**
 * Sets the request id and the common headers of every response, and logs every request when its response has ended.
 * Lines that a handler logs carry the request id too.
 */
export function registerRequestLog(fastify: FastifyInstance, parent: Logger): void {
  // These lines contain no secrets. Redaction would cost more than writing them.
  const logger = parent.child({}, { redact: [] });
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header(REQUEST_ID_HEADER, request.id);
    done();
  });
  fastify.decorateRequest('logContext', null);
  // Reading the body loses what was set before it.
  fastify.addHook('preHandler', (request, _reply, done) => {
    request.logContext = new LogContext({ request_id: request.id }, request);
    request.logContext.run(done);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    request.logContext?.end();
    logRequest(logger, request, reply);
    done();
  });
}

/**
 * Logs one structured line. Omits the query, headers and bodies because they can contain secrets.
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
