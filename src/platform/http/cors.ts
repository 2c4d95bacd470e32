import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The paths that web pages of other origins can call. */
const PREFIX = '/api/';
const METHODS = 'GET, POST, DELETE';
/** Response headers that scripts can read, in addition to those that CORS always exposes. */
const EXPOSED_HEADERS =
  'WWW-Authenticate, Mcp-Session-Id, x-request-id, x-task-id, Location, Preference-Applied, Retry-After, ' +
  'RateLimit, RateLimit-Policy, Content-Range, Content-Disposition, Accept-Ranges, ETag';
const PREFLIGHT_CACHED_S = '600';
/** A list of header names (RFC 9110 §5.6.2). */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]{1,4096}$/;

/**
 * Lets web pages of the given origins call `/api/**` (Fetch Standard, "CORS protocol"), preflights included. Pages send
 * a token in `Authorization`; cookies are not accepted, hence no credentials mode. Responses to other origins have no
 * CORS headers, so that browsers keep them from the page. Requests without `Origin` cost nothing.
 */
export function registerCors(fastify: FastifyInstance, allowedOrigins: readonly string[]): void {
  const allowed: ReadonlySet<string> = new Set(allowedOrigins);
  if (allowed.size === 0) return;
  fastify.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    if (origin === undefined || !request.url.startsWith(PREFIX)) return done();
    // A shared cache must not give one origin's response to another.
    void reply.header('vary', 'Origin');
    if (!allowed.has(origin)) return done();
    void reply.header('access-control-allow-origin', origin);
    if (isPreflight(request)) return answerPreflight(request, reply);
    void reply.header('access-control-expose-headers', EXPOSED_HEADERS);
    done();
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/**
 * A preflight carries no credential, so it is answered before one is demanded, and whether or not the route exists. All
 * request headers are allowed: MCP clients send some that depend on the tool (`Mcp-Param-*`).
 */
function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const requested = headers['access-control-request-headers'];
  if (requested !== undefined && HEADER_NAMES.test(requested)) {
    void reply.header('access-control-allow-headers', requested);
  }
  void reply
    .status(204)
    .header('access-control-allow-methods', METHODS)
    .header('access-control-max-age', PREFLIGHT_CACHED_S)
    .header('vary', 'Origin, Access-Control-Request-Headers')
    .send();
}
