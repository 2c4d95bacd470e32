-- Keeps the name of a row that is deleted; the argument is the column of the name.
CREATE OR REPLACE FUNCTION keep_name() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  _name text;
BEGIN
  -- Only this column is read: what another one holds can be large, and must not keep the row from being deleted.
  EXECUTE format('SELECT ($1).%I', TG_ARGV[0]) INTO _name USING OLD;
  INSERT INTO deleted_names (id, name) SELECT OLD.id, _name WHERE _name IS NOT NULL ON CONFLICT (id) DO NOTHING;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER api_keys_keep_name AFTER DELETE ON api_keys FOR EACH ROW
  EXECUTE FUNCTION keep_name('name');
CREATE OR REPLACE TRIGGER connections_keep_name AFTER DELETE ON connections FOR EACH ROW
  EXECUTE FUNCTION keep_name('title');
CREATE OR REPLACE TRIGGER users_keep_name AFTER DELETE ON users FOR EACH ROW
  EXECUTE FUNCTION keep_name('email');
