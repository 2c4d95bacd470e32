import type { FileUIPart, TextUIPart } from 'ai';

/** A message that is being written. It has a text, files, or both. */
export interface Draft {
  readonly text: string;
  readonly files: readonly FileUIPart[];
}

/** The parts of the message, in the order in which the AI SDK sends them. */
export function partsOf({ text, files }: Draft): (FileUIPart | TextUIPart)[] {
  return [...files, ...(text.trim() === '' ? [] : [{ type: 'text' as const, text }])];
}
