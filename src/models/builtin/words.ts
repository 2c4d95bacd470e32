/** How many words a text has: the built-in model's tokens. */
export function countWords(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/\S+/g)) count += 1;
  return count;
}

/** A text in pieces of one word each, with the space that follows it. Put together they give the text again. */
export function* splitWords(text: string): Generator<string> {
  for (const [piece] of text.matchAll(/\s*\S+\s*|\s+/g)) yield piece;
}
