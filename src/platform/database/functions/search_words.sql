-- The query that finds a text in `text_words`, in the syntax of web searches: words, "phrases", or, -without. The last
-- word can be the beginning of one once it has three letters. NULL, which matches nothing, for a text without words.
CREATE OR REPLACE FUNCTION search_words(_organization uuid, _text text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT CASE WHEN numnode(query) > 0 THEN
           quote_literal('@' || _organization::text)::tsquery && CASE
             WHEN _text ~ '[[:alnum:]]{3}$' AND query::text ~ '''$' THEN (query::text || ':*')::tsquery ELSE query END END
    FROM websearch_to_tsquery('pg_catalog.simple', _text) AS query
$$;
