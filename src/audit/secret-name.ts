import { LRUCache } from 'lru-cache';

/** Parts that make a name secret wherever they stand in it, as they read without case and separators. */
const PARTS = [
  'authorization',
  'cookie',
  'passwd',
  'password',
  'passphrase',
  'passcode',
  'pincode',
  'secret',
  'token',
  'apikey',
  'accesskey',
  'accountkey',
  'encryptionkey',
  'masterkey',
  'privatekey',
  'sharedkey',
  'signingkey',
  'subscriptionkey',
  'credential',
  'session',
  'signature',
  'bearer',
  'jwt',
  // Of our own management tools: the headers may have any name.
  'connectionheaders',
];

/** Short ones, which would be found inside harmless words: they count only as a word of the name. */
const WORDS: ReadonlySet<string> = new Set([
  'auth',
  'cvc',
  'cvv',
  'mfa',
  'otp',
  'pass',
  'pin',
  'psk',
  'pw',
  'pwd',
  'sid',
  'sig',
  'ssn',
  'totp',
]);

const WORD_BORDER = /[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/;

/** The same few names come again and again, and judging one takes longer than everything else that is done with a value. */
const known = new LRUCache<string, boolean>({ max: 1000 });
const MAX_KNOWN_LENGTH = 64;

/**
 * Does a value of this name have to stay unseen? Case, separators and the width of letters make no difference. It rather
 * hides too much: `max_tokens` is secret too.
 */
export function isSecretName(name: string): boolean {
  if (name.length > MAX_KNOWN_LENGTH) return judge(name);
  let isSecret = known.get(name);
  if (isSecret === undefined) {
    isSecret = judge(name);
    known.set(name, isSecret);
  }
  return isSecret;
}

function judge(name: string): boolean {
  const plain = name.normalize('NFKC');
  const letters = plain.toLowerCase().replace(/[^a-z0-9]/g, '');
  if (WORDS.has(letters) || PARTS.some((part) => letters.includes(part))) return true;
  return plain.split(WORD_BORDER).some((word) => WORDS.has(word.toLowerCase()));
}
