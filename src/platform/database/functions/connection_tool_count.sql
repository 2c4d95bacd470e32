-- How many tools the upstream of a connection has listed, so that lists need not read the definitions.
CREATE OR REPLACE FUNCTION connection_tool_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.tool_count := json_array_length(NEW.tools);
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER connections_tool_count BEFORE INSERT OR UPDATE OF tools ON connections FOR EACH ROW
  EXECUTE FUNCTION connection_tool_count();
