import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler, RouteOptions } from 'fastify';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import { DomainError } from '../../core/domain-error.js';
import { takeTurn, turnHolderOf } from '../../core/work-turns.js';
import { hasBody } from '../../platform/http/unread-bodies.js';
import type { AnonymousConnections } from '../../platform/http/anonymous-connections.js';
import { AuthGuard } from './auth.guard.js';
import { type DeclaredRoute, RouteAccessTable } from './route-access-table.js';

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
    fastify.addHook('onRoute', (route) => addOnRequest(route, this.createHook(route, anonymousConnections)));
  }

  private createHook({ method, url }: RouteOptions, anonymousConnections: AnonymousConnections): onRequestHookHandler {
    // The table is complete before the first request, but not when routes are registered.
    let found: { route: DeclaredRoute | undefined } | undefined;
    return (request, reply, done) => {
      found ??= { route: this.table.find([method].flat(), url) };
      const { route } = found;
      if (route === undefined || route.access === 'public') return done();
      // Nest does not match a route with an empty parameter.
      if (hasEmptyParameter(request)) return void reply.callNotFound();
      const { access, threadAccess } = route;
      // The organizations take turns, and the callers of each, so that a burst of one delays no other.
      const takeTurnAfter = (): void => {
        if (request.principal !== undefined) anonymousConnections.admitConnection(request.raw.socket);
        void mapMaybePromise(takeTurn(turnHolderOf(request.principal, 'request')), () => done());
      };
      try {
        const admitted = this.guard.admitRequest(request, reply, access, threadAccess);
        if (admitted instanceof Promise) admitted.then(takeTurnAfter, done);
        else takeTurnAfter();
      } catch (error) {
        done(error as Error);
      }
    };
  }
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
