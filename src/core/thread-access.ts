import { SetMetadata } from '@nestjs/common';
import { DomainError } from './domain-error.js';
import type { Principal, ThreadPermission } from './principal.js';

/**
 * How a route is open to browser tokens: with a permission, for the thread that the path parameter `threadId` names; or
 * `tool`, for the route on which the permission map decides about the management tool; or `run`, for routes whose
 * handler compares the thread of the run and requires the permission.
 */
export type ThreadAccess = ThreadPermission | 'tool' | 'run';

export const THREAD_ACCESS = 'signalbox:thread-access';

/** Opens a route to browser tokens. Every other route is closed to them. */
export function OpenToThreadTokens(access: ThreadAccess): MethodDecorator {
  return SetMetadata(THREAD_ACCESS, access);
}

/**
 * Refuses browser tokens on a route that is not open to them, or of another thread.
 * @param access of the route; undefined if it is closed to browser tokens
 * @throws DomainError `permission_denied`
 */
export function requireThreadAccess(
  { thread }: Principal,
  access: ThreadAccess | undefined,
  threadId: string | undefined,
): void {
  if (thread === undefined || access === 'tool' || access === 'run') return;
  if (access !== undefined && thread.permissions.includes(access) && thread.id === threadId) return;
  throw denied();
}

/**
 * Refuses a browser token of another thread. For handlers of management tools that browser tokens can call.
 * @throws DomainError `permission_denied`
 */
export function requireOwnThread({ thread }: Principal, threadId: string): void {
  if (thread !== undefined && thread.id !== threadId) throw denied();
}

/**
 * Refuses a browser token without this permission. For handlers whose route needs another one.
 * @throws DomainError `permission_denied`
 */
export function requireThreadPermission({ thread }: Principal, permission: ThreadPermission): void {
  if (thread !== undefined && !thread.permissions.includes(permission)) throw denied();
}

function denied(): DomainError {
  return new DomainError(
    'permission_denied',
    'The token opens one thread only, with the permissions it was created with.',
  );
}
