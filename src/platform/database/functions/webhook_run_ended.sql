-- A trigger covers every way in which a run ends. Its condition costs other changes of a run nothing, and an
-- organization without webhooks pays one look-up in an index.
CREATE OR REPLACE FUNCTION webhook_run_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM webhook_record('run.' || NEW.status, NEW);
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER runs_webhooks AFTER UPDATE OF status ON runs FOR EACH ROW
  WHEN (NEW.status IN ('completed', 'failed', 'cancelled') AND OLD.status NOT IN ('completed', 'failed', 'cancelled'))
  EXECUTE FUNCTION webhook_run_ended();
