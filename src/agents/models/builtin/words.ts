/** The number of words in a text: the built-in model's tokens. */
export function countWords(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/\S+/g)) count += 1;
  return count;
}

/** Splits a text into words, each with the space that follows it. Joined, they give the original text. */
export function* splitWords(text: string): Generator<string> {
  for (const [piece] of text.matchAll(/\s*\S+\s*|\s+/g)) yield piece;
}
