/**
 * Replaces the characters that PostgreSQL's `jsonb` and some model providers refuse (NUL and unpaired surrogates) by
 * U+FFFD.
 */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}
