-- When the day or the month of this moment began, in UTC.
CREATE OR REPLACE FUNCTION spend_window_start(_period text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
SELECT date_trunc(_period, now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;
