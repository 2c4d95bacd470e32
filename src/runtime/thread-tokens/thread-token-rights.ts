import { DomainError } from '../../core/domain-error.js';
import { allows, ANY, intersectionOf, type PermissionMap, SELF } from '../../core/permissions.js';
import type { ThreadPermission } from '../../core/principal.js';
import { declarePermissions } from '../../core/self-permissions.js';

interface ToolsOfPermission {
  /** The maker of a token must hold all of these. */
  readonly required: readonly string[];
  /** A token has those of these that its maker holds. */
  readonly optional: readonly string[];
}

const NONE: ToolsOfPermission = { required: [], optional: [] };

/** What each permission of a token needs in the list `self`: management tools, and the word for approvals. */
const SELF_PERMISSIONS: Readonly<Record<ThreadPermission, ToolsOfPermission>> = {
  post: NONE,
  cancel: NONE,
  read: { required: ['COLLECTION_THREADS_GET', 'COLLECTION_THREAD_MESSAGES_LIST'], optional: ['RUN_GET'] },
  approve: { required: ['RUN_APPROVE'], optional: [] },
};

declarePermissions('RUN_APPROVE');

/**
 * Checks that the maker of a token holds what the token is to open.
 * @throws DomainError `permission_widening`
 */
export function requireHeld(maker: PermissionMap, permissions: readonly ThreadPermission[]): void {
  const missing = permissions
    .flatMap((each) => SELF_PERMISSIONS[each].required)
    .filter((name) => !allows(maker, SELF, name));
  if (missing.length === 0) return;
  throw new DomainError(
    'permission_widening',
    `The caller cannot grant permissions that it does not hold: ${missing.map((name) => `self:${name}`).join(', ')}.`,
  );
}

/** The permission map of a token: what it opens, as far as its maker holds it now. */
export function permissionsOfToken(
  maker: PermissionMap,
  { permissions, agentId }: { readonly permissions: readonly ThreadPermission[]; readonly agentId: string },
): PermissionMap {
  const tools = permissions.flatMap((each) => [...SELF_PERMISSIONS[each].required, ...SELF_PERMISSIONS[each].optional]);
  const held = intersectionOf({ [SELF]: tools, [agentId]: [ANY] }, maker);
  return { [SELF]: held[SELF] ?? [], [agentId]: held[agentId] ?? [] };
}
