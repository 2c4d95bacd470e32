-- The names of the tools that an answer has called. NUL and halves of surrogate pairs, which models and tools can send,
-- are replaced: no text can hold them.
CREATE OR REPLACE FUNCTION message_tools(_parts json) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((array_agg(DISTINCT left(part->>'toolName', 256)))[1:100], '{}')
    FROM json_array_elements(CASE
           WHEN json_typeof(_parts) <> 'array' THEN '[]'
           ELSE regexp_replace(_parts::text, '\\u(?:0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi') END::json) AS part
   WHERE part->>'type' = 'dynamic-tool' AND part->>'toolName' IS NOT NULL
$$;
