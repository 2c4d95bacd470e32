import { hashSecret, SecretForm } from './secret-form.js';

const FORM = new SecretForm('sbx_');
/** A random secret of 43 base62 characters has about 31 different ones; fewer than 16 do not occur by chance. */
const LEAST_DIFFERENT_CHARACTERS = 16;

/** The number of leading characters stored in plain text, so that a person can recognize the key. */
export const VISIBLE_PREFIX_LENGTH = 12;

/** A new key value. Shown once, never stored. */
export function generateApiKey(): string {
  return FORM.generate();
}

/** True if the text has the form of an API key, with a valid checksum. */
export function isWellFormedApiKey(value: string): boolean {
  return FORM.matches(value);
}

/** True if the secret looks random. Refuses placeholders such as one repeated character. */
export function isStrongApiKey(value: string): boolean {
  return new Set(FORM.secretOf(value)).size >= LEAST_DIFFERENT_CHARACTERS;
}

/** SHA-256 in hex, which is stored and looked up. */
export function hashApiKey(value: string): string {
  return hashSecret(value);
}
