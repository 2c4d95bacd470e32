/**
 * The text without what PostgreSQL's `jsonb` and some model providers refuse: NUL characters and halves of surrogate pairs become
 * U+FFFD.
 */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}
