-- Since when a connection has its status.
CREATE OR REPLACE FUNCTION connection_status_since() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.status_since := now();
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER connections_status_since BEFORE UPDATE OF status ON connections FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION connection_status_since();
