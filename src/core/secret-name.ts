import { LRUCache } from 'lru-cache';

/** Parts that make a name secret at any position, compared without case and separators. */
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
  // A field of the service's management tools; the headers in it can have any name.
  'connectionheaders',
  // Another one: headers and arguments of servers to import.
  'mcpservers',
];

/** Short parts that also occur inside harmless words: they match only whole words of the name. */
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

/** A few names recur, and classifying a name takes longer than all other work on its value. */
const known = new LRUCache<string, boolean>({ max: 1000 });
const MAX_KNOWN_LENGTH = 64;

/**
 * Whether values of this name must be redacted. Ignores case, separators and the width of letters. Prefers false
 * positives: `max_tokens` counts as secret.
 */
export function isSecretName(name: string): boolean {
  if (name.length > MAX_KNOWN_LENGTH) return classify(name);
  let isSecret = known.get(name);
  if (isSecret === undefined) {
    isSecret = classify(name);
    known.set(name, isSecret);
  }
  return isSecret;
}

function classify(name: string): boolean {
  const plain = name.normalize('NFKC');
  const letters = plain.toLowerCase().replace(/[^a-z0-9]/g, '');
  if (WORDS.has(letters) || PARTS.some((part) => letters.includes(part))) return true;
  return plain.split(WORD_BORDER).some((word) => WORDS.has(word.toLowerCase()));
}
