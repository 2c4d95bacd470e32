import { hash } from 'node:crypto';
import type { PermissionMap } from '../../core/permissions.js';

/** Equal for equal permissions, in every process. */
export function permissionsDigest(permissions: PermissionMap): string {
  return hash('sha1', JSON.stringify(permissions), 'base64url');
}
