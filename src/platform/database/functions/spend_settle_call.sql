-- Settles a model call with what it cost; NULL counts what was reserved. Does nothing if it was settled before: by the
-- next attempt, or with the end of the run.
CREATE OR REPLACE FUNCTION spend_settle_call(_run uuid, _call uuid, _cost numeric) RETURNS void
  LANGUAGE plpgsql AS $$
DECLARE
  _reservation jsonb;
BEGIN
  SELECT reservation INTO _reservation FROM runs WHERE id = _run AND reservation->>'call' = _call::text
    FOR NO KEY UPDATE;
  IF FOUND THEN
    PERFORM spend_settle(_reservation, _cost);
    UPDATE runs SET reservation = NULL WHERE id = _run;
  END IF;
END
$$;
