-- The spending limits that apply to a run: of its organization, its agent, its person, and of its key with the keys
-- that made it. One row for each limit and period.
CREATE OR REPLACE FUNCTION spend_limits_of(_organization uuid, _agent uuid, _api_key uuid, _user uuid)
  RETURNS TABLE (scope text, subject_id uuid, period text, usd numeric) LANGUAGE sql STABLE AS $$
WITH RECURSIVE line AS (
  SELECT id, maker_key_id FROM api_keys WHERE id = _api_key
  UNION ALL
  SELECT key.id, key.maker_key_id FROM line JOIN api_keys key ON key.id = line.maker_key_id
)
SELECT scope, subject_id, period, usd FROM spend_limits
 WHERE organization_id = _organization
   AND CASE scope WHEN 'organization' THEN true WHEN 'agent' THEN subject_id = _agent
                  WHEN 'person' THEN user_id = _user ELSE subject_id IN (SELECT id FROM line) END
$$;
