import type { RequestListener, Server } from 'node:http';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { EarlyAdmission } from '../identity/auth/early-admission.js';
import { requestIdFrom } from '../core/ids.js';
import type { AppConfig } from '../core/config/app-config.js';
import { answerClientError, answerFrameworkErrors } from '../platform/http/client-errors.js';
import { serveConsole } from '../console/console-files.js';
import { HttpAdapter } from '../platform/http/http-adapter.js';
import { registerHostHeader } from '../platform/http/host-header.js';
import { registerCors } from '../platform/http/cors.js';
import { BODY_LIMIT_BYTES, registerJsonBody } from '../platform/http/json-body.js';
import { registerRequestLog, REQUEST_ID_HEADER } from '../platform/http/request-log.js';
import { registerPageHeaders } from '../platform/http/page-headers.js';
import { AnonymousConnections } from '../platform/http/anonymous-connections.js';
import type { Peers } from '../platform/http/peers.js';
import { warnOfUntrustedProxy } from '../platform/http/untrusted-proxy.js';
import { registerUnreadBodies } from '../platform/http/unread-bodies.js';
import { registerFileBody } from '../runtime/files/file-body.js';
import { registerFormBody } from '../platform/pages/form.js';
import { McpRoutes } from '../proxy/http/mcp-routes.js';
import { OauthRoutes } from '../identity/oauth/authorization-server.js';
import { serveOpenApi } from '../api/openapi/openapi-document.js';
import { HttpTelemetry } from '../platform/telemetry/http-telemetry.js';

/** Thread ids can have 128 characters; the router's default limit is 100. */
const MAX_PARAM_LENGTH = 256;
const MAX_HEADER_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 72_000;

/** Creates the HTTP server under Nest, for `main` and the tests. */
export function createAdapter({ settings }: AppConfig, logger: Logger, peers?: Peers): FastifyAdapter {
  const { headersTimeoutMs: headersTimeout, requestTimeoutMs: requestTimeout, trustProxy } = settings;
  const http = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout,
    requestTimeout,
    connectionsCheckingInterval: Math.min(1_000, headersTimeout),
  };
  return new HttpAdapter({
    bodyLimit: BODY_LIMIT_BYTES,
    http,
    requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_MS,
    ...(peers && {
      serverFactory: (handler: RequestListener) =>
        peers.createServer(handler, { ...http, keepAliveTimeout: KEEP_ALIVE_MS }),
    }),
    genReqId: (request: { headers: NodeJS.Dict<string | string[]> }) =>
      requestIdFrom(request.headers[REQUEST_ID_HEADER]),
    requestIdHeader: false,
    ...(trustProxy.length > 0 && { trustProxy: [...trustProxy] }),
    frameworkErrors: answerFrameworkErrors(logger),
    clientErrorHandler: answerClientError,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    forceCloseConnections: true,
    exposeHeadRoutes: false,
  });
}

/**
 * Configures every instance of the application, in production and in tests.
 * @returns the connections of callers without a verified credential
 */
export function configureApp(app: NestFastifyApplication, config: AppConfig, logger: Logger): AnonymousConnections {
  const fastify = app.getHttpAdapter().getInstance();
  const anonymousConnections = new AnonymousConnections(config.settings.maxUnauthenticatedConnections);
  anonymousConnections.watch(fastify.server as Server);
  anonymousConnections.limitPipelining(fastify);
  registerUnreadBodies(fastify);
  registerJsonBody(fastify);
  registerFormBody(fastify);
  registerFileBody(fastify);
  registerRequestLog(fastify, logger);
  registerHostHeader(fastify);
  if (config.settings.trustProxy.length === 0) warnOfUntrustedProxy(fastify, logger);
  if (config.servesApi) registerCors(fastify, config.settings.allowedOrigins);
  registerPageHeaders(fastify);
  app.get(HttpTelemetry, { strict: false }).serveOn(fastify, ({ config }) => config?.isMcpEndpoint === true);
  app.get(EarlyAdmission, { strict: false }).serveOn(fastify, anonymousConnections);
  if (!config.servesApi) return anonymousConnections;
  app.get(OauthRoutes, { strict: false }).serveOn(fastify);
  app.get(McpRoutes, { strict: false }).serveOn(fastify, anonymousConnections);
  serveOpenApi(app);
  if (config.servesConsole) serveConsole(fastify, () => config.baseUrl);
  return anonymousConnections;
}
