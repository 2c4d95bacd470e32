/**
 * What a reader does not see, or what changes the order of the characters around it: controls, format characters
 * (bidirectional marks among them), unassigned and private characters, separators and spaces other than the usual one,
 * fillers.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** The text with its unseen characters as escapes of JSON, such as `\u202e`. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_unit, index) => escapeOf(character.charCodeAt(index))).join(''),
  );
}

/** The value as JSON in which every character can be seen. It is still JSON of the same value. */
export function visibleJson(value: unknown, indent?: number): string {
  const lines = (JSON.stringify(value, null, indent) ?? 'null').split('\n');
  return lines.map(visibleText).join('\n');
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
