/**
 * Replaces the characters that PostgreSQL's `jsonb` and some model providers refuse (NUL and unpaired surrogates) by
 * U+FFFD.
 */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

/** A NUL character or half of a surrogate pair as `JSON.stringify` writes it, or any other escape. */
const ESCAPE = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;

/** `plainText` of all names and texts of a JSON document that `JSON.stringify` wrote. */
export function plainJson(json: string): string {
  return json.replace(ESCAPE, (escape) => (escape.length > 2 ? '\ufffd' : escape));
}
