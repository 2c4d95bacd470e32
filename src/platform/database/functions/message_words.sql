-- The words of the text parts of a message, as `text_words` has them; an index cannot call a function that calls another
-- one. The rest of a message, such as arguments and results of tools, is not searched. The bounds keep it below the size
-- of the largest tsvector, and its insertion quick.
CREATE OR REPLACE FUNCTION message_words(_organization uuid, _parts json) RETURNS tsvector LANGUAGE sql IMMUTABLE
PARALLEL SAFE COST 1000 AS $$
  SELECT array_to_tsvector(ARRAY['@' || _organization::text]) ||
         to_tsvector('pg_catalog.simple', coalesce(left(string_agg(left(part->>'text', 20000), ' '), 20000), ''))
    FROM json_array_elements(_parts) AS part WHERE part->>'type' = 'text'
$$;
