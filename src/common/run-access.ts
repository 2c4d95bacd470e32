import { DomainError } from './domain-error.js';
import { allowsAny } from './permissions.js';
import type { Principal } from './principal.js';

/**
 * Checks that the caller can run the agent and read its streams. With `run_access: granted`, that needs a grant on the agent.
 * @throws DomainError `permission_denied`
 */
export function requireRunAccess({ runAccess, permissions }: Principal, agentId: string): void {
  if (runAccess === 'members' || allowsAny(permissions, agentId)) return;
  throw new DomainError('permission_denied', 'The credential holds no permission for the agent of this thread.');
}
