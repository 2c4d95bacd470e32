/** Characters that a reader does not see, and marks that change the order of the others. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A value as JSON that shows all of its characters to a person who decides about it. It is still JSON of the same
 * value.
 */
export function visibleJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
