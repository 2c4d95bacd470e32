-- A trigger covers every way in which a run ends. Its condition costs other changes of a run nothing, and an
-- organization without webhooks for the event pays one look-up in an index: the body is not made.
CREATE OR REPLACE FUNCTION webhook_run_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM webhooks WHERE organization_id = NEW.organization_id AND enabled AND events ? ('run.' || NEW.status)
  ) THEN
    PERFORM webhook_record('run.' || NEW.status, NEW);
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER runs_webhooks AFTER UPDATE OF status ON runs FOR EACH ROW
  WHEN (NEW.status IN ('completed', 'failed', 'cancelled') AND OLD.status NOT IN ('completed', 'failed', 'cancelled'))
  EXECUTE FUNCTION webhook_run_ended();
