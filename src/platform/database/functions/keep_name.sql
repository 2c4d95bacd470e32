-- Keeps the name of a row that is deleted; the argument is the column of the name.
CREATE OR REPLACE FUNCTION keep_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO deleted_names (id, name)
    SELECT OLD.id, to_jsonb(OLD) ->> TG_ARGV[0] WHERE to_jsonb(OLD) ->> TG_ARGV[0] IS NOT NULL
    ON CONFLICT (id) DO NOTHING;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER api_keys_keep_name AFTER DELETE ON api_keys FOR EACH ROW
  EXECUTE FUNCTION keep_name('name');
CREATE OR REPLACE TRIGGER connections_keep_name AFTER DELETE ON connections FOR EACH ROW
  EXECUTE FUNCTION keep_name('title');
CREATE OR REPLACE TRIGGER users_keep_name AFTER DELETE ON users FOR EACH ROW
  EXECUTE FUNCTION keep_name('email');
