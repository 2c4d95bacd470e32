import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { requestIdFrom } from './common/ids.js';
import type { AppConfig } from './config/app-config.js';
import { answerFrameworkErrors } from './http/framework-errors.js';
import { BODY_LIMIT_BYTES, registerJsonBody } from './http/json-body.js';
import { registerRequestLog, REQUEST_ID_HEADER } from './http/request-log.js';
import { McpRoutes } from './proxy/mcp-routes.service.js';
import { serveOpenApi } from './openapi/serve-openapi.js';

/** Thread ids may have 128 characters; the router's own limit is 100. */
const MAX_PARAM_LENGTH = 256;

/** The HTTP server under Nest, shared by `main` and the tests. */
export function createAdapter(logger: Logger): FastifyAdapter {
  return new FastifyAdapter({
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: (request: { headers: NodeJS.Dict<string | string[]> }) =>
      requestIdFrom(request.headers[REQUEST_ID_HEADER]),
    requestIdHeader: false,
    frameworkErrors: answerFrameworkErrors(logger),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    // There is no middleware, only hooks, guards and filters: looking for some would cost every request.
    skipMiddie: true,
  });
}

/** What every instance of the application has, in production and under test. */
export function configureApp(app: NestFastifyApplication, config: AppConfig, logger: Logger): void {
  const fastify = app.getHttpAdapter().getInstance();
  registerJsonBody(fastify);
  registerRequestLog(fastify, logger);
  if (!config.servesApi) return;
  app.get(McpRoutes, { strict: false }).serveOn(fastify);
  serveOpenApi(app);
}
