-- The size of the JSON text, where pg_column_size tells that of the compressed value. The cost makes the planner
-- measure only the rows of the page, after sorting; without it the rows of the whole list would be unpacked first.
CREATE OR REPLACE FUNCTION json_octets(value jsonb) RETURNS integer
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
BEGIN
  RETURN coalesce(octet_length(value::text), 0);
END
$$;
