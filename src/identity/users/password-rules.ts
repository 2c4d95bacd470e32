export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 128;

/**
 * Words of which the most common passwords of twelve and more characters consist, in published lists of leaked
 * passwords. The longer ones come first, because they contain shorter ones.
 */
const COMMON_WORDS =
  'administrator correcthorsebatterystaple qwertyuiop superman unbelievable liverpool manchester basketball ' +
  'chocolate butterfly sunshine elizabeth signalbox christian charlotte alexander asdfghjkl password passwort ' +
  'motdepasse contrasena changeme football baseball starwars princess computer internet whatever michelle jennifer ' +
  'jonathan trustno iloveyou ihateyou welcome letmein monkey dragon master shadow qwerty azerty qwertz zxcvbn ' +
  'asdfgh default pokemon charlie michael jessica ashley batman summer winter forever admin login hello love';
const WORDS = [...new Set(COMMON_WORDS.split(' '))].toSorted((a, b) => b.length - a.length);
/** Rows of keyboards, the alphabet and the digits, in which people run their fingers along. */
const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'yxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn',
];
const SHORTEST_RUN = 3;
/** A password needs this many characters that are neither in a common word nor in a run. */
const MIN_OTHERS = 3;
const MIN_DISTINCT = 5;

const SUBSTITUTES: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
};

/**
 * The reason why a password is refused, as a sentence; undefined for a password that is accepted: 12 to 128 characters,
 * not among the most common ones, and not made of the person's own address.
 */
export function passwordFault(password: string, email = ''): string | undefined {
  const { length } = [...password.normalize('NFC')];
  if (length < MIN_PASSWORD_LENGTH) return `The password must have at least ${MIN_PASSWORD_LENGTH} characters.`;
  if (length > MAX_PASSWORD_LENGTH) return `The password must have at most ${MAX_PASSWORD_LENGTH} characters.`;
  if (password.includes('\u0000') || !password.isWellFormed()) return 'The password contains an invalid character.';
  if (isCommon(password.toLowerCase(), email.toLowerCase())) {
    return 'The password is too common or too easy to guess. Choose another one, such as several unrelated words.';
  }
  return undefined;
}

function isCommon(password: string, email: string): boolean {
  if (new Set(password).size < MIN_DISTINCT || /^(.{1,6})\1+.?$/u.test(password)) return true;
  const own = email.split(/[@.+_-]/).filter((part) => part.length >= 4);
  const words = [...own, ...WORDS];
  const forms = [password, substituted(password, /[@0$!]/g), substituted(password, /[@431!0$57]/g)];
  return forms.some((form) => othersIn(form, words) < MIN_OTHERS);
}

/** The letters that digits and signs commonly stand for. */
function substituted(password: string, signs: RegExp): string {
  return password.replaceAll(signs, (sign) => SUBSTITUTES[sign] ?? sign);
}

/** How many characters remain without common words, runs, repetitions and punctuation. */
function othersIn(password: string, words: readonly string[]): number {
  let rest = password;
  for (const word of words) rest = rest.replaceAll(word, ' ');
  return withoutRuns(rest)
    .replaceAll(/(.)\1{2,}/gu, ' ')
    .replaceAll(/(?:19|20)\d\d/g, ' ')
    .replaceAll(/[^\p{L}\p{N}]/gu, '').length;
}

function withoutRuns(text: string): string {
  let rest = '';
  for (let at = 0; at < text.length;) {
    const length = runLengthAt(text, at);
    if (length < SHORTEST_RUN) rest += text[at];
    at += length < SHORTEST_RUN ? 1 : length;
  }
  return rest;
}

/** The length of the longest run, forwards or backwards, that starts at this character. */
function runLengthAt(text: string, at: number): number {
  let longest = 0;
  for (const row of RUNS) {
    for (const run of [row, [...row].toReversed().join('')]) {
      let length = 0;
      while (at + length < text.length && run.includes(text.slice(at, at + length + 1))) length++;
      longest = Math.max(longest, length);
    }
  }
  return longest;
}
