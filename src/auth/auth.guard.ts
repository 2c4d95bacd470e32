import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { type ProtectedAccess, ROUTE_ACCESS, type RouteAccess } from '../common/access.js';
import { DomainError } from '../common/domain-error.js';
import type { Principal } from '../common/principal.js';
import { requireThreadAccess, THREAD_ACCESS, type ThreadAccess } from '../common/thread-access.js';
import { Authenticator } from './authenticator.js';
import { ProtectedResource, resourcePathOf, scopeOf } from './protected-resource.js';

/**
 * Guards every route by its declared access: verifies the credential, then that it opens the requested resource and belongs to
 * the organization in the path. Malformed, unknown and foreign organizations get the same response. `EarlyAdmission` and
 * `McpRoutes` call the guard before the request body is read.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  /** Cached by handler: the metadata lookup costs more than the rest of the guard. */
  private readonly known = new WeakMap<object, RouteAccess | undefined>();

  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly resource: ProtectedResource,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.accessOf(context);
    if (access === 'public') return true;
    if (access === undefined) throw new Error(`${context.getClass().name} has a route without declared access.`);
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.admittedFor === access) return true;
    const threadAccess = this.reflector.get<ThreadAccess | undefined>(THREAD_ACCESS, context.getHandler());
    return this.admitRequest(request, access, threadAccess);
  }

  /**
   * Verifies the credential of a request and stores its principal. Returns a promise only if the credential is not cached.
   * @param threadAccess how the route is open to browser tokens; without it, it is closed to them
   * @throws DomainError `credential_missing`, `credential_invalid`, `credential_expired`, `insufficient_scope`,
   *   `organization_mismatch`, with the challenge for the resource; `permission_denied` for a browser token
   */
  admitRequest(request: FastifyRequest, access: ProtectedAccess, threadAccess?: ThreadAccess): true | Promise<true> {
    const { authorization } = request.headers;
    if (access === 'mcp' && authorization === undefined) {
      request.admittedFor = access;
      return true;
    }
    const { org } = request.params as { org?: string };
    try {
      const principal = this.authenticator.authenticate(authorization, request.raw.socket, org);
      if (!(principal instanceof Promise)) return admitAs(principal, request, access, threadAccess);
      return principal
        .then((read) => admitAs(read, request, access, threadAccess))
        .catch((error) => this.refuse(error, request, access));
    } catch (error) {
      return this.refuse(error, request, access);
    }
  }

  private refuse(error: unknown, request: FastifyRequest, access: ProtectedAccess): never {
    const challenge = error instanceof DomainError ? this.resource.challenge(request, access, error) : undefined;
    if (challenge === undefined) throw error;
    throw (error as DomainError).withHeaders({ 'www-authenticate': challenge });
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

/** @throws DomainError `credential_invalid`, `organization_mismatch`, `insufficient_scope`, `permission_denied` */
function admitAs(
  principal: Principal,
  request: FastifyRequest,
  access: ProtectedAccess,
  threadAccess: ThreadAccess | undefined,
): true {
  request.principal = principal;
  const { resource, scopes } = principal;
  if (
    resource !== undefined &&
    request.url !== resource &&
    resourcePathOf(request, access).toLowerCase() !== resource
  ) {
    throw new DomainError('credential_invalid', 'The token was issued for another resource.');
  }
  const { org, threadId } = request.params as { org?: string; threadId?: string };
  const isLegacyPath = access === 'mcp' && org === undefined;
  if (!isLegacyPath && org !== principal.organization.slug) {
    throw new DomainError('organization_mismatch', 'The credential does not belong to the organization in the path.');
  }
  if (scopes !== undefined && !scopes.includes(scopeOf(access))) {
    throw new DomainError('insufficient_scope', `The token lacks the scope "${scopeOf(access)}".`);
  }
  requireThreadAccess(principal, threadAccess, threadId);
  request.admittedFor = access;
  return true;
}
