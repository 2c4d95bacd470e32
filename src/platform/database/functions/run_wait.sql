-- The run waits without a worker, unless all its approvals are closed or it was asked to stop. Whoever closes an
-- approval holds the run's lock; the statements after the lock therefore see every approval that was closed before.
CREATE OR REPLACE FUNCTION run_wait(_run uuid, _attempt integer, _epoch text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM runs
    WHERE id = _run AND attempt = _attempt AND epoch = _epoch AND status = 'running' AND cancel_requested_at IS NULL
    FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM FROM run_approvals WHERE run_id = _run AND closed_at IS NULL;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE runs SET status = 'waiting', waiting_since = now(), yields = yields + 1, updated_at = now() WHERE id = _run;
  RETURN true;
END
$$;
