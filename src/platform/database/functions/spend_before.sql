-- What the runs of a subject have cost that were posted since then: the beginning of a window that no limit has counted
-- yet. The runs of a key include those of the keys that it made.
CREATE OR REPLACE FUNCTION spend_before(_organization uuid, _scope text, _subject uuid, _since timestamptz)
  RETURNS numeric LANGUAGE sql STABLE AS $$
WITH RECURSIVE made AS (
  SELECT _subject AS id WHERE _scope = 'key'
  UNION ALL
  SELECT key.id FROM made JOIN api_keys key ON key.maker_key_id = made.id
)
SELECT coalesce(sum(cost_usd::numeric), 0) FROM runs
 WHERE organization_id = _organization AND created_at >= _since
   AND CASE _scope WHEN 'organization' THEN true WHEN 'agent' THEN agent_id = _subject
                   WHEN 'person' THEN user_id = (SELECT user_id FROM members WHERE id = _subject)
                   ELSE api_key_id IN (SELECT id FROM made) END
$$;
