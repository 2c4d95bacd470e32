-- When a window ends: a UTC day or month after its start.
CREATE OR REPLACE FUNCTION spend_window_end(_period text, _starts timestamptz) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE AS $$
SELECT (_starts AT TIME ZONE 'UTC' + ('1 ' || _period)::interval) AT TIME ZONE 'UTC'
$$;
