import type { PermissionMap } from './permissions.js';

/** The caller: built by the auth guard from a verified credential only, never from other parts of the request. */
export interface Principal {
  kind: 'api_key';
  organization: { id: string; slug: string };
  userId: string;
  apiKeyId: string;
  /** The complete permissions of this caller; anything absent is denied. */
  permissions: PermissionMap;
  /** Equal for equal permissions of this credential: a comparison shows whether they have changed. */
  permissionsDigest: string;
}
