-- A time as the bodies of webhooks have it: ISO 8601, UTC.
CREATE OR REPLACE FUNCTION webhook_time(_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
SELECT to_char(_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
