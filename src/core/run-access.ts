import { DomainError } from './domain-error.js';
import { allowsAny } from './permissions.js';
import type { Principal } from './principal.js';

/**
 * True if the caller can run the agent and read its streams. With `run_access: granted`, that needs a grant on the
 * agent.
 */
export function hasRunAccess({ runAccess, permissions }: Principal, agentId: string): boolean {
  return runAccess === 'members' || allowsAny(permissions, agentId);
}

/**
 * Checks that the caller has access (`hasRunAccess`).
 * @throws DomainError `permission_denied`
 */
export function requireRunAccess(caller: Principal, agentId: string): void {
  if (hasRunAccess(caller, agentId)) return;
  throw new DomainError('permission_denied', 'The credential holds no permission for the agent of this thread.');
}
