import { LRUCache } from 'lru-cache';
import { HIDDEN, withoutCredentials } from './credential-forms.js';

/** RFC 6750 §2.1. */
const BEARER = /\b(bearer)\s{1,16}[^\s"',;<>\\]+/gi;
/** `user:password@` of a URL (RFC 3986 §3.2.1). */
const USER_INFO = /:\/\/[^\s/?#"'<>@]{1,512}@/g;

/** RFC 7468 §2 and, with ` BLOCK`, RFC 9580 §6.2. Also matches a truncated key. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----|$)/g;

/** Texts without either need no search for names, which is the common case. */
const SIGN = /[=:]/;
/** A name inside a text with the separator before its value: `name=`, `some key: `, `"name": `, `\"name\":\"`. */
const NAME = /(?<![\w.-])((?:[\w.-]{1,64}[ \t](?=keys?\b))?[\w.-]{1,64})\\{0,4}["']?\s{0,4}([=:])\s{0,4}\\{0,4}/gi;
const QUOTED_VALUE = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/sy;
/** The value in a query, a form or a command line. */
const ASSIGNED_VALUE = /[^\s&;,"'<>]*/y;
/** The value of a header. */
const LINE = /[^\r\n]*/y;

/** Replaces the credentials that are recognizable from their context. Takes linear time. */
export function redactText(text: string): string {
  const plain = withoutCredentials(text.replace(PRIVATE_KEY, HIDDEN))
    .replace(BEARER, `$1 ${HIDDEN}`)
    .replace(USER_INFO, `://${HIDDEN}@`);
  return SIGN.test(plain) ? withoutNamedValues(plain) : plain;
}

function withoutNamedValues(text: string): string {
  let kept = '';
  let from = 0;
  NAME.lastIndex = 0;
  for (let found = NAME.exec(text); found !== null; found = NAME.exec(text)) {
    const [, name = '', sign] = found;
    if (!isSecretName(name)) continue;
    const valueAt = NAME.lastIndex;
    const end = endOf(QUOTED_VALUE, text, valueAt) ?? endOf(sign === '=' ? ASSIGNED_VALUE : LINE, text, valueAt);
    if (end === undefined || end === valueAt) continue;
    kept += text.slice(from, valueAt) + HIDDEN;
    from = end;
    NAME.lastIndex = end;
  }
  return kept + text.slice(from);
}

function endOf(value: RegExp, text: string, at: number): number | undefined {
  value.lastIndex = at;
  return value.test(text) ? value.lastIndex : undefined;
}

/** Parts that make a name secret at any position, compared without case and separators. */
const SECRET_PARTS = [
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
const SECRET_WORDS: ReadonlySet<string> = new Set([
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
const knownNames = new LRUCache<string, boolean>({ max: 1000 });

const MAX_KNOWN_LENGTH = 64;

/**
 * Whether values of this name must be redacted. Ignores case, separators and the width of letters. Prefers false
 * positives: `max_tokens` counts as secret.
 */
export function isSecretName(name: string): boolean {
  if (name.length > MAX_KNOWN_LENGTH) return classify(name);
  let isSecret = knownNames.get(name);
  if (isSecret === undefined) {
    isSecret = classify(name);
    knownNames.set(name, isSecret);
  }
  return isSecret;
}

function classify(name: string): boolean {
  const plain = name.normalize('NFKC');
  const letters = plain.toLowerCase().replace(/[^a-z0-9]/g, '');
  if (SECRET_WORDS.has(letters) || SECRET_PARTS.some((part) => letters.includes(part))) return true;
  return plain.split(WORD_BORDER).some((word) => SECRET_WORDS.has(word.toLowerCase()));
}
