/**
 * A copy for keeping. V8 only points from a part of a text to the whole of it, so that an id that is remembered would keep
 * the path alive that it came in, 16 KiB of it if the caller likes.
 */
export function unsliceString(text: string): string {
  return structuredClone(text);
}
