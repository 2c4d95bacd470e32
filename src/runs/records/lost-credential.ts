/**
 * SQL condition on a row of `runs`: the credential that posted the run was revoked or has expired, or its person is no longer a
 * member. A change of permissions does not count, because a run acts with its agent's selection.
 */
export const HAS_LOST_CREDENTIAL = `((runs.api_key_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM api_keys WHERE api_keys.id = runs.api_key_id AND (api_keys.expires_at IS NULL OR api_keys.expires_at > now())))
  OR (runs.grant_id IS NOT NULL AND NOT EXISTS (SELECT FROM oauth_grants WHERE oauth_grants.id = runs.grant_id))
  OR (runs.user_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM members WHERE members.organization_id = runs.organization_id AND members.user_id = runs.user_id)))`;
