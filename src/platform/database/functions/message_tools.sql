-- The names of the tools that an answer has called. NUL and halves of surrogate pairs, which models and tools can send,
-- are replaced: no text can hold them. PL/pgSQL for the same reason as `message_words`.
CREATE OR REPLACE FUNCTION message_tools(_parts json) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (
    SELECT coalesce((array_agg(DISTINCT left(part->>'toolName', 256)))[1:100], '{}')
      FROM json_array_elements(CASE
             WHEN json_typeof(_parts) <> 'array' THEN '[]'::json
             WHEN strpos(_parts::text, '\u') = 0 THEN _parts
             ELSE regexp_replace(_parts::text, '\\u(?:0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::json END) AS part
     WHERE part->>'type' = 'dynamic-tool' AND part->>'toolName' IS NOT NULL
  );
END
$$;
