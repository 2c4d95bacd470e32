/**
 * SQL condition on a row of `runs`, or of another table with its columns of the caller: the credential that made it was
 * revoked or has expired, or its person is no longer a member. A change of permissions does not count, because a run
 * acts with its agent's selection.
 */
export function hasLostCredential(table: string): string {
  return `((${table}.api_key_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM api_keys WHERE api_keys.id = ${table}.api_key_id
      AND (api_keys.expires_at IS NULL OR api_keys.expires_at > now())))
  OR (${table}.grant_id IS NOT NULL AND NOT EXISTS (SELECT FROM oauth_grants WHERE oauth_grants.id = ${table}.grant_id))
  OR (${table}.user_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM members WHERE members.organization_id = ${table}.organization_id
      AND members.user_id = ${table}.user_id)))`;
}

export const HAS_LOST_CREDENTIAL = hasLostCredential('runs');
