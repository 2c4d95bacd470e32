-- The messages of a run's n-th steer have the 1000 ordinals after this one: after the request of the run, which has at
-- most 1000 messages, and before its answer.
CREATE OR REPLACE FUNCTION run_steer_ordinal(_number integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT 1000000 + (_number - 1) * 1000
$$;
