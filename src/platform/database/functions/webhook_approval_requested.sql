CREATE OR REPLACE FUNCTION webhook_approval_requested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM webhook_record('approval.requested', runs, NEW.id) FROM runs WHERE id = NEW.run_id;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER run_approvals_webhooks AFTER INSERT ON run_approvals FOR EACH ROW
  EXECUTE FUNCTION webhook_approval_requested();
