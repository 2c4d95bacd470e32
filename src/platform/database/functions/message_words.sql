-- The words of the text parts of a message, as `text_words` has them; an index cannot call a function that calls another
-- one. The rest of a message, such as arguments and results of tools, is not searched. The bounds keep it below the size
-- of the largest tsvector, and its insertion quick.
-- An answer has no words until its metadata tells how it ended, because it is stored again and again while it is written.
-- An answer that its run could not store at its end stays without words, as does a message whose parts are no list.
-- NUL and halves of surrogate pairs, which models and tools can send, are replaced: no text can hold them.
-- PL/pgSQL, because each statement that stores a message would prepare a function in SQL again.
CREATE OR REPLACE FUNCTION message_words(_organization uuid, _role text, _parts json, _metadata json) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
BEGIN
  RETURN (
    SELECT array_to_tsvector(ARRAY['@' || _organization::text])
           || to_tsvector('pg_catalog.simple', coalesce(regexp_replace(
             left(string_agg(left(part->>'text', 20000), ' '), 20000),
             '[!-/:-@\u005B-\u0060{-~\u00A0\u00A1\u00AB\u00B7\u00BB\u00BF\u2000-\u206F\u3000-\u3002]+', ' ', 'g'), ''))
      FROM json_array_elements(CASE
             WHEN json_typeof(_parts) <> 'array' THEN '[]'::json
             WHEN _role = 'assistant' AND _metadata::text !~ '"(finishReason|aborted)":' THEN '[]'
             WHEN strpos(_parts::text, '\u') = 0 THEN _parts
             ELSE regexp_replace(_parts::text, '\\u(?:0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::json END) AS part
     WHERE part->>'type' = 'text'
  );
END
$$;
