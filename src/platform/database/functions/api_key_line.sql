-- Counts a key and its makers, and lists their rate limits, that of the key itself first. Keys that a deleted key has
-- left behind go on using its quota: the list names that key in place of theirs.
CREATE OR REPLACE FUNCTION api_key_line(_key uuid, OUT length integer, OUT limits json) LANGUAGE sql STABLE AS $$
WITH RECURSIVE line AS (
  SELECT key.maker_key_id, coalesce(key.quota_key_id, key.id) AS quota_key_id, key.rate_limit, 1 AS place
      FROM api_keys key WHERE key.id = _key
  UNION ALL
  SELECT key.maker_key_id, coalesce(key.quota_key_id, key.id), key.rate_limit, place + 1
      FROM line JOIN api_keys key ON key.id = line.maker_key_id
)
SELECT count(*)::integer,
       json_agg(json_build_object('keyId', quota_key_id, 'perMinute', rate_limit->'per_minute') ORDER BY place)
         FILTER (WHERE rate_limit ? 'per_minute')
  FROM line
$$;
