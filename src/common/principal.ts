import type { PermissionMap } from './permissions.js';

/** Who is asking: built by the auth guard from a verified credential, never from anything else in the request. */
export interface Principal {
  kind: 'api_key';
  organization: { id: string; slug: string };
  userId: string;
  apiKeyId: string;
  /** The whole decision for this caller: what is not in here is denied. */
  permissions: PermissionMap;
  /** Equal for equal permissions of this credential: comparing it tells whether they have changed. */
  permissionsDigest: string;
}
