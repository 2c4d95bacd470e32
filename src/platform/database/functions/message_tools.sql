-- The names of the tools that an answer has called.
CREATE OR REPLACE FUNCTION message_tools(_parts json) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((array_agg(DISTINCT left(part->>'toolName', 256)))[1:100], '{}')
    FROM json_array_elements(_parts) AS part
   WHERE part->>'type' = 'dynamic-tool' AND part->>'toolName' IS NOT NULL
$$;
