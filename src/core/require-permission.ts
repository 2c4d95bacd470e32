import { applyDecorators, type CanActivate, type ExecutionContext, SetMetadata, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { DomainError } from './domain-error.js';
import { allows, SELF, declarePermissions } from './permissions.js';
import type { Principal } from './principal.js';

/** The permissions that a route or its controller requires, as a list. */
export const REQUIRED_PERMISSIONS = 'signalbox:required-permissions';

/**
 * Requires a permission of the caller: an entry in the list `self` of its permission map, next to the names of
 * management tools. On a controller it applies to all routes, in addition to their own requirements. The route needs a
 * verified caller: combined with `@Access('public')`, the application does not start.
 */
export function RequirePermission(permission: string): MethodDecorator & ClassDecorator {
  declarePermissions(permission);
  return applyDecorators(SetMetadata(REQUIRED_PERMISSIONS, [permission]), UseGuards(PermissionGuard));
}

/** Refuses callers without the permissions of the route. Runs after the guard that verifies the credential. */
class PermissionGuard implements CanActivate {
  private readonly reflector = new Reflector();

  /** @throws DomainError `credential_missing` or `permission_denied` */
  canActivate(context: ExecutionContext): boolean {
    const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
    // An MCP route admits callers without a credential.
    if (principal === undefined) throw new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.');
    const places = [context.getHandler(), context.getClass()];
    const required = this.reflector.getAllAndMerge<readonly string[]>(REQUIRED_PERMISSIONS, places);
    for (const permission of required) requirePermission(principal, permission);
    return true;
  }
}

/**
 * The rule of `@RequirePermission`, for code whose input determines the required permission.
 * Declare the permission with `declarePermissions`, unless it is that of a management tool or of `@RequirePermission`.
 * @param detail a sentence for the caller, instead of the one that names the permission
 * @throws DomainError `permission_denied`
 */
export function requirePermission({ permissions }: Principal, permission: string, detail?: string): void {
  if (allows(permissions, SELF, permission)) return;
  throw new DomainError(
    'permission_denied',
    detail ?? `The credential does not hold the permission self:${permission}.`,
  );
}
