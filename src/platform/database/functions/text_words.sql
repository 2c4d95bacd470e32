-- The words of a text, for an index of many organizations: `@` and the id of the organization is one of them, so that a
-- search reads only what both lists of the index have in common, however often others write the word. No text contains
-- such a word.
CREATE OR REPLACE FUNCTION text_words(_organization uuid, _text text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT array_to_tsvector(ARRAY['@' || _organization::text]) || to_tsvector('pg_catalog.simple', _text)
$$;
