import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ROUTE_ACCESS, type RouteAccess } from '../common/access.js';
import { DomainError } from '../common/domain-error.js';
import { mapMaybePromise } from '../common/map-maybe-promise.js';
import type { Principal } from '../common/principal.js';
import { Authenticator } from './authenticator.js';

/**
 * Guards every route by its declared access: verifies the credential, then that it belongs to the organization in the
 * path. A wrong, an unknown and a foreign organization answer alike. `EarlyAdmission` and `McpRoutes` call it before the body
 * of the request is read.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  /** By handler: looking metadata up costs more than all the rest of the guard. */
  private readonly known = new WeakMap<object, RouteAccess | undefined>();

  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.accessOf(context);
    if (access === 'public') return true;
    if (access === undefined) throw new Error(`${context.getClass().name} has a route without declared access.`);
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return request.admittedFor === access || this.admit(request, access);
  }

  /**
   * Verifies the credential of a request, and notes whose it is; a promise only when it has to be read.
   * @throws DomainError `credential_missing`, `credential_invalid`, `credential_expired`, `organization_mismatch`
   */
  admit(request: FastifyRequest, access: Exclude<RouteAccess, 'public'>): true | Promise<true> {
    const { authorization } = request.headers;
    if (access === 'mcp' && authorization === undefined) {
      request.admittedFor = access;
      return true;
    }
    const principal = this.authenticator.authenticate(authorization, request.raw.socket);
    return mapMaybePromise(principal, (read) => admitAs(read, request, access));
  }

  private accessOf(context: ExecutionContext): RouteAccess | undefined {
    const handler = context.getHandler();
    if (!this.known.has(handler)) {
      const places = [handler, context.getClass()];
      this.known.set(handler, this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, places));
    }
    return this.known.get(handler);
  }
}

/** @throws DomainError `organization_mismatch` */
function admitAs(principal: Principal, request: FastifyRequest, access: RouteAccess): true {
  request.principal = principal;
  const { org } = request.params as { org?: string };
  const isLegacyPath = access === 'mcp' && org === undefined;
  if (!isLegacyPath && org !== principal.organization.slug) {
    throw new DomainError('organization_mismatch', 'The credential does not belong to the organization in the path.');
  }
  request.admittedFor = access;
  return true;
}
