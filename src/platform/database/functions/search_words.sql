-- The query that finds a text in `text_words`, in the syntax of web searches: words, "phrases", or, -without. The last
-- word can be the beginning of one once it has three letters, unless it is excluded. NULL, which matches nothing, for a
-- text without words. Punctuation becomes spaces as there, except quotes, and a minus at the beginning of a word.
CREATE OR REPLACE FUNCTION search_words(_organization uuid, _text text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT CASE WHEN numnode(query) > 0 THEN
           quote_literal('@' || _organization::text)::tsquery && CASE
             WHEN words ~ '[^[:space:]"-]{3}$' AND query::text ~ '''$' AND query::text !~ '!''[^'']*''$'
               THEN (query::text || ':*')::tsquery ELSE query END END
    FROM regexp_replace(_text,
           '[!#-,./:-@\u005B-\u0060{-~\u00A0\u00A1\u00AB\u00B7\u00BB\u00BF\u2000-\u206F\u3000-\u3002]', ' ', 'g'
         ) AS spaced,
         regexp_replace(spaced, '([^[:space:]])-+|-+([[:space:]]|$)', '\1 ', 'g') AS words,
         websearch_to_tsquery('pg_catalog.simple', words) AS query
$$;
