/**
 * SQL condition on a row of `runs`: the API key that posted the run was deleted or has expired. A change of the key's permissions
 * does not count, because a run acts with its agent's selection.
 */
export const HAS_LOST_CREDENTIAL = `(runs.api_key_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM api_keys WHERE api_keys.id = runs.api_key_id AND (api_keys.expires_at IS NULL OR api_keys.expires_at > now())))`;
