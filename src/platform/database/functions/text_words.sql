-- The words of a text, for an index of many organizations: `@` and the id of the organization is one of them, so that a
-- search reads only what both lists of the index have in common, however often others write the word. No text contains
-- such a word.
-- Punctuation becomes spaces: the parser takes `-4711` for a number with a sign, `<b>` for a tag, and, with the locale C,
-- all that is not ASCII for letters. It is named here (that of ASCII; common quotes, dashes and spaces), because classes
-- such as [:punct:] depend on the locale.
CREATE OR REPLACE FUNCTION text_words(_organization uuid, _text text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT array_to_tsvector(ARRAY['@' || _organization::text]) || to_tsvector('pg_catalog.simple', regexp_replace(_text,
           '[!-/:-@\u005B-\u0060{-~\u00A0\u00A1\u00AB\u00B7\u00BB\u00BF\u2000-\u206F\u3000-\u3002]+', ' ', 'g'))
$$;
