-- Settles what a run has still reserved when it ends or is deleted: triggers cover every way. Runs without a reservation
-- only pay for the condition. They run before `runs_webhooks`, so that windows are always locked before webhooks.
CREATE OR REPLACE FUNCTION spend_run_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM spend_settle(OLD.reservation, NULL);
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  NEW.reservation := NULL;
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER runs_spend_ended BEFORE UPDATE OF status ON runs FOR EACH ROW
  WHEN (OLD.reservation IS NOT NULL AND NEW.status IN ('completed', 'failed', 'cancelled'))
  EXECUTE FUNCTION spend_run_ended();
CREATE OR REPLACE TRIGGER runs_spend_deleted BEFORE DELETE ON runs FOR EACH ROW
  WHEN (OLD.reservation IS NOT NULL)
  EXECUTE FUNCTION spend_run_ended();
