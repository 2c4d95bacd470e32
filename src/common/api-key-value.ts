import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'sbx_';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const FORMAT = /^sbx_[0-9A-Za-z]{49}$/;
/** A random secret of 43 base62 characters has about 31 different ones; fewer than 16 do not occur by chance. */
const LEAST_DIFFERENT_CHARACTERS = 16;

/** The number of leading characters stored in plain text, so that a person can recognize the key. */
export const VISIBLE_PREFIX_LENGTH = 12;

/**
 * A new key value: `sbx_`, 43 base62 characters of a CSPRNG (256 bits) and 6 of a CRC-32 checksum. Shown once, never
 * stored.
 */
export function generateApiKey(): string {
  const secret = Array.from({ length: SECRET_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return PREFIX + secret + checksum(secret);
}

/** Does this text have the form of an API key, with a valid checksum? */
export function isWellFormedApiKey(value: string): boolean {
  if (!FORMAT.test(value)) return false;
  const secret = value.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return checksum(secret) === value.slice(-CHECKSUM_LENGTH);
}

/** Does the secret look random? Refuses placeholders such as one repeated character. */
export function isStrongApiKey(value: string): boolean {
  return new Set(value.slice(PREFIX.length, -CHECKSUM_LENGTH)).size >= LEAST_DIFFERENT_CHARACTERS;
}

/**
 * SHA-256 in hex, which is stored and looked up. The value has 256 bits of entropy, so a slow hash would add nothing.
 */
export function hashApiKey(value: string): string {
  return hash('sha256', value, 'hex');
}

function checksum(secret: string): string {
  let rest = crc32(secret);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET[rest % ALPHABET.length] + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
