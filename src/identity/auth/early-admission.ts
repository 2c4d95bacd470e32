import { Injectable } from '@nestjs/common';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify';
import type { ProtectedAccess } from '../../core/access.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import { DomainError } from '../../core/domain-error.js';
import { takeTurn, turnHolderOf } from '../../core/work-turns.js';
import { hasBody } from '../../platform/http/unread-bodies.js';
import type { AnonymousConnections } from '../../platform/http/anonymous-connections.js';
import { AuthGuard } from './auth.guard.js';
import { type DeclaredRoute, RouteAccessTable } from './route-access-table.js';

/** An `onRequest` hook that needs no `this`. */
type OnRequestHook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

/**
 * Runs the guard before the body of a request is read, so that the service buffers and parses only bodies of
 * authenticated callers. When Nest runs the guard later, the request is already admitted. Routes without access
 * declared on a controller rely on their own guards.
 */
@Injectable()
export class EarlyAdmission {
  constructor(
    private readonly guard: AuthGuard,
    private readonly table: RouteAccessTable,
  ) {}

  /** Call before Nest registers its routes. */
  serveOn(fastify: FastifyInstance, anonymousConnections: AnonymousConnections): void {
    fastify.addHook('onRequest', (request, _reply, done) => {
      // The handler of unknown routes responds to requests without a body.
      if (request.is404 && hasBody(request.headers)) done(new DomainError('unknown_route'));
      else done();
    });
    fastify.addHook('onRoute', (route) => {
      // `McpRoutes` admits requests to MCP endpoints.
      if (route.config?.mcpEndpoint === undefined) addOnRequest(route, this.createHook(route, anonymousConnections));
    });
  }

  private createHook({ method, url }: RouteOptions, anonymousConnections: AnonymousConnections): onRequestHookHandler {
    // The table is complete before the first request, but not when routes are registered.
    let found: { route: DeclaredRoute | undefined } | undefined;
    const admit = (
      request: FastifyRequest,
      reply: FastifyReply,
      access: ProtectedAccess,
      route: DeclaredRoute,
    ): void | Promise<void> =>
      mapMaybePromise(this.guard.admitRequest(request, reply, access, route.threadAccess), () => {
        if (request.principal !== undefined) anonymousConnections.admitConnection(request.raw.socket);
      });
    return (request, reply, done) => {
      found ??= { route: this.table.find([method].flat(), url) };
      const { route } = found;
      if (route === undefined || route.access === 'public') return done();
      const { access } = route;
      admissionHook(() => admit(request, reply, access, route))(request, reply, done);
    };
  }
}

/**
 * A hook that admits or refuses a request before its body is read. An admitted one takes its turn: in a burst of one
 * organization, or of one caller, the requests of others begin before the rest of it.
 * @param admit returns a promise only if something has to be read first; a request for which it throws is refused
 * @param refuse answers the error; by default Fastify passes it to the filters
 */
export function admissionHook(
  admit: (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>,
  refuse?: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void,
): OnRequestHook {
  return (request, reply, done) => {
    // Nest does not match a route with an empty parameter.
    if (hasEmptyParameter(request)) return void reply.callNotFound();
    const onError = (error: unknown): void => (refuse ? refuse(error, request, reply) : done(error as Error));
    const onAdmitted = (): void => {
      void mapMaybePromise(takeTurn(turnHolderOf(request.principal, 'request')), () => done());
    };
    try {
      const admitted = admit(request, reply);
      if (admitted instanceof Promise) admitted.then(onAdmitted, onError);
      else onAdmitted();
    } catch (error) {
      onError(error);
    }
  };
}

/** `Object.values` would allocate a list for each request. */
function hasEmptyParameter({ params }: FastifyRequest): boolean {
  for (const name in params as Record<string, string>) {
    if ((params as Record<string, string>)[name] === '') return true;
  }
  return false;
}

/** Adds a hook that runs when the headers have arrived, after the route's existing hooks. */
export function addOnRequest(route: RouteOptions, hook: onRequestHookHandler): void {
  route.onRequest = [...[route.onRequest ?? []].flat(), hook];
}
