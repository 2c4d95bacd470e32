/** Where the capitals, the small letters and the digits of an alphabet begin in Unicode. */
const ALPHABETS: Readonly<Record<string, readonly [capitals: number, small: number, digits?: number]>> = {
  bold: [0x1d400, 0x1d41a, 0x1d7ce],
  'bold-italic': [0x1d468, 0x1d482],
  'double-struck': [0x1d538, 0x1d552, 0x1d7d8],
  script: [0x1d49c, 0x1d4b6],
  fraktur: [0x1d504, 0x1d51e],
};

/** Letters that Unicode had before it got the alphabets. */
const OLDER: Readonly<Record<string, string>> = {
  'double-struck': 'Cℂ Hℍ Nℕ Pℙ Qℚ Rℝ Zℤ',
  script: 'Bℬ Eℰ Fℱ Hℋ Iℐ Lℒ Mℳ Rℛ eℯ gℊ oℴ',
  fraktur: 'Cℭ Hℌ Iℑ Rℜ Zℨ',
};

/** A text in an alphabet, such as ℝ for R. Browsers ignore the attribute of MathML for it, except `normal`. */
export function inAlphabet(text: string, alphabet: string): string {
  const [capitals, small, digits] = ALPHABETS[alphabet] ?? [];
  const older = new Map(OLDER[alphabet]?.split(' ').map(([letter, character]) => [letter, character]));
  const moved = (character: string, from: string, to: number | undefined): string =>
    older.get(character) ??
    (to === undefined ? character : String.fromCodePoint(to + character.charCodeAt(0) - from.charCodeAt(0)));
  return text
    .replace(/[A-Z]/g, (character) => moved(character, 'A', capitals))
    .replace(/[a-z]/g, (character) => moved(character, 'a', small))
    .replace(/[0-9]/g, (character) => moved(character, '0', digits));
}
