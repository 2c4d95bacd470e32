import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler, RouteOptions } from 'fastify';
import type { RouteAccess } from '../common/access.js';
import { DomainError } from '../common/domain-error.js';
import { hasBody } from '../http/unread-bodies.js';
import type { StrangerConnections } from '../http/stranger-connections.js';
import { AuthGuard } from './auth.guard.js';
import { RouteAccessTable } from './route-access-table.js';

/**
 * Runs the guard before the body of a request is read, so that only callers with a credential have their bodies kept and
 * parsed. The guard itself, which Nest runs later, finds the request admitted. Routes whose access is not declared on a
 * controller are left to their own guards.
 */
@Injectable()
export class EarlyAdmission {
  constructor(
    private readonly guard: AuthGuard,
    private readonly table: RouteAccessTable,
  ) {}

  /** Call before Nest registers its routes. */
  serveOn(fastify: FastifyInstance, strangers: StrangerConnections): void {
    fastify.addHook('onRequest', (request, _reply, done) => {
      // What has no body is left to the handler of unknown routes.
      if (request.is404 && hasBody(request.headers)) done(new DomainError('unknown_route'));
      else done();
    });
    fastify.addHook('onRoute', (route) => {
      // `McpRoutes` admits these.
      if (route.config?.mcpEndpoint === undefined) addOnRequest(route, this.hookOf(route, strangers));
    });
  }

  private hookOf({ method, url }: RouteOptions, strangers: StrangerConnections): onRequestHookHandler {
    // The table is complete before the first request, but not yet when routes are registered.
    let found: { access: RouteAccess | undefined } | undefined;
    return (request, reply, done) => {
      found ??= { access: this.table.accessOf([method].flat(), url) };
      const { access } = found;
      if (access === undefined || access === 'public') return done();
      // An empty parameter is none: Nest knows no such route.
      if (hasEmptyParameter(request)) return void reply.callNotFound();
      const admitted = (): void => {
        if (request.principal !== undefined) strangers.admit(request.raw.socket);
        done();
      };
      try {
        const waited = this.guard.admit(request, access);
        if (waited instanceof Promise) waited.then(admitted, done);
        else admitted();
      } catch (error) {
        done(error as Error);
      }
    };
  }
}

/** Adds a hook that runs when the headers are there, after those that the route has already. */
export function addOnRequest(route: RouteOptions, hook: onRequestHookHandler): void {
  route.onRequest = [...[route.onRequest ?? []].flat(), hook];
}

export function hasEmptyParameter({ params }: FastifyRequest): boolean {
  return Object.values(params as Record<string, string>).includes('');
}
