import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ProtectedAccess, ROUTE_ACCESS, type RouteAccess } from '../../core/access.js';
import { DomainError } from '../../core/domain-error.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import type { Principal } from '../../core/principal.js';
import { requireThreadAccess, THREAD_ACCESS, type ThreadAccess } from '../../core/thread-access.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import { Authenticator } from './authenticator.js';
import { hasScopeFor, opensResource, ProtectedResource, resourcePathOf, scopeOf } from './protected-resource.js';

/**
 * Guards every route by its declared access: verifies the credential, then that it opens the requested resource and
 * belongs to the organization in the path. Malformed, unknown and foreign organizations get the same response.
 * `EarlyAdmission` calls the guard before the request body is read.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  /** Cached by handler: the metadata lookup costs more than the rest of the guard. */
  private readonly known = new WeakMap<object, RouteAccess | undefined>();

  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly resource: ProtectedResource,
    private readonly limits: RequestLimits,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.accessOf(context);
    if (access === 'public') return true;
    if (access === undefined) throw new Error(`${context.getClass().name} has a route without declared access.`);
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (request.admittedFor === access) return true;
    const threadAccess = this.reflector.get<ThreadAccess | undefined>(THREAD_ACCESS, context.getHandler());
    return this.admitRequest(request, http.getResponse<FastifyReply>(), access, threadAccess);
  }

  /**
   * Verifies the credential of a request, stores its principal, and counts the request against the limits of its key
   * and its organization. Returns a promise only if the credential is not cached, or quota has to be leased.
   * @param threadAccess how the route is open to browser tokens; without it, it is closed to them
   * @throws DomainError `credential_missing`, `credential_invalid`, `credential_expired`, `insufficient_scope`,
   *   `organization_mismatch`, with the challenge for the resource; `permission_denied` for a browser token;
   *   `csrf_invalid` for a signed-in browser; `rate_limited`
   */
  admitRequest(
    request: FastifyRequest,
    reply: FastifyReply,
    access: ProtectedAccess,
    threadAccess?: ThreadAccess,
  ): true | Promise<true> {
    const { authorization } = request.headers;
    const { org } = request.params as { org?: string };
    try {
      const session =
        authorization === undefined && org !== undefined
          ? this.authenticator.authenticateRequest(request, org)
          : undefined;
      if (access === 'mcp' && authorization === undefined && session === undefined) {
        request.admittedFor = access;
        return true;
      }
      const principal = session ?? this.authenticator.authenticate(authorization, request.raw.socket, org);
      const admitted = mapMaybePromise(principal, (verified) =>
        this.limits.mayConcern(verified)
          ? this.admitAndCount(verified, request, reply, () => admitAs(verified, request, access, threadAccess))
          : admitAs(verified, request, access, threadAccess),
      );
      return admitted instanceof Promise ? admitted.catch((error) => this.refuse(error, request, access)) : admitted;
    } catch (error) {
      return this.refuse(error, request, access);
    }
  }

  /** Counts refused requests too, except for unauthenticated ones. */
  private admitAndCount(
    principal: Principal,
    request: FastifyRequest,
    reply: FastifyReply,
    admit: () => true,
  ): true | Promise<true> {
    let refusal: unknown;
    try {
      admit();
    } catch (error) {
      if (error instanceof DomainError && error.status === 401) throw error;
      refusal = error;
    }
    const conclude = (): true => {
      if (refusal !== undefined) throw refusal;
      return true;
    };
    const counted = this.limits.countRequest(principal, request, reply);
    return counted === undefined ? conclude() : counted.then(conclude);
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
  const { resource } = principal;
  const isElsewhere = resource !== undefined && request.url !== resource;
  if (isElsewhere && !opensResource(principal, resourcePathOf(request, access))) {
    throw new DomainError('credential_invalid', 'The token was issued for another resource.');
  }
  const { org, threadId } = request.params as { org?: string; threadId?: string };
  const isLegacyPath = access === 'mcp' && org === undefined;
  if (!isLegacyPath && org !== principal.organization.slug) {
    throw new DomainError('organization_mismatch', 'The credential does not belong to the organization in the path.');
  }
  if (!hasScopeFor(principal, access)) {
    throw new DomainError('insufficient_scope', `The token lacks the scope "${scopeOf(access)}".`);
  }
  requireThreadAccess(principal, threadAccess, threadId);
  request.admittedFor = access;
  return true;
}
