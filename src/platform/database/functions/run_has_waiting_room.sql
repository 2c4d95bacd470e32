-- True if one more run of the organization can be posted, with at most `_waiting` runs beyond those that are in
-- progress, or beyond the `_concurrent` that can be. The lock is held until the transaction ends, so that two requests
-- do not take the same room.
CREATE OR REPLACE FUNCTION run_has_waiting_room(_organization uuid, _waiting integer, _concurrent integer)
  RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  _max bigint;
BEGIN
  FOR _try IN 1..2 LOOP
    IF _try = 2 THEN
      PERFORM pg_advisory_xact_lock(hashtextextended('run_has_waiting_room:' || _organization, 0));
    END IF;
    _max := _waiting::bigint + coalesce(
      _concurrent, (SELECT count(*) FROM runs WHERE organization_id = _organization AND status = 'running'));
    IF (SELECT count(*) FROM (
        SELECT FROM runs WHERE organization_id = _organization AND status IN ('queued', 'running') LIMIT _max
      ) AS open) >= _max THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END
$$;
