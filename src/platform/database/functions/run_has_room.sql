-- True if one more run of the organization can start. The lock is held until the transaction ends, so that two claims
-- do not take the same room. While there is clearly none, nobody waits for it. Expensive: the other conditions of a
-- claim come first.
CREATE OR REPLACE FUNCTION run_has_room(_organization uuid, _cap integer) RETURNS boolean
  LANGUAGE plpgsql VOLATILE COST 10000 AS $$
DECLARE
  _limit integer := run_concurrency_limit(_organization, _cap);
BEGIN
  IF _limit IS NULL THEN
    RETURN true;
  END IF;
  IF (SELECT count(*) FROM runs WHERE organization_id = _organization AND status = 'running') >= _limit THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('run_has_room:' || _organization, 0));
  RETURN (SELECT count(*) FROM runs WHERE organization_id = _organization AND status = 'running') < _limit;
END
$$;
