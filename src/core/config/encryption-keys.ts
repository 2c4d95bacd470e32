import { randomBytes } from 'node:crypto';
import { ConfigError } from './env-reader.js';

/** A key of the vault's key ring: 32 bytes for AES-256, identified by its id. Never log it. */
export interface EncryptionKey {
  readonly id: string;
  readonly key: Buffer;
}

const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;

/**
 * Parses `ENCRYPTION_KEYS`: `id:base64-32-bytes[,id:…]`, standard base64 with padding. The first key encrypts, all
 * decrypt.
 * @throws ConfigError with a message that names the variable and the entry's position, but no part of its text
 */
export function parseEncryptionKeys(text: string): readonly EncryptionKey[] {
  const keys = text.split(',').map((entry, index) => parseEntry(entry.trim(), index + 1));
  if (new Set(keys.map(({ id }) => id)).size < keys.length) {
    throw new ConfigError('ENCRYPTION_KEYS has a duplicate id.');
  }
  if (new Set(keys.map(({ key }) => key.toString('hex'))).size < keys.length) {
    throw new ConfigError('ENCRYPTION_KEYS contains the same key under two ids.');
  }
  return keys;
}

/**
 * A new random key in the format of `parseEncryptionKeys`.
 * @param id 1 to 32 of `[A-Za-z0-9_-]`
 */
export function generateEncryptionKey(id: string): string {
  if (!KEY_ID.test(id)) throw new RangeError('The id of an encryption key must be 1 to 32 of A-Z, a-z, 0-9, _ and -.');
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

function parseEntry(entry: string, position: number): EncryptionKey {
  const [id = '', base64 = '', ...rest] = entry.split(':');
  if (rest.length > 0 || !KEY_ID.test(id)) {
    throw unusable(position, 'must consist of an id (1 to 32 letters, digits, _ or -), a colon and a key');
  }
  const key = Buffer.from(base64, 'base64');
  if (key.length !== KEY_BYTES || key.toString('base64') !== base64) {
    throw unusable(position, 'must contain exactly 32 bytes in base64');
  }
  if (isGuessable(key, base64)) throw unusable(position, 'is a placeholder or not random');
  return { id, key };
}

function unusable(position: number, fault: string): ConfigError {
  return new ConfigError(`ENCRYPTION_KEYS: entry ${position} ${fault} (generate a key with: openssl rand -base64 32).`);
}

/** Detects keys that people type. Less than one random key in 100 million is a false positive. */
function isGuessable(key: Buffer, base64: string): boolean {
  return hasFewValues(key) || isMostlyRegular(key) || isMostlyText(key) || readsAsPlaceholder(base64);
}

/** Detects zeros, one repeated byte or a repeated word. */
function hasFewValues(key: Buffer): boolean {
  return new Set(key).size <= KEY_BYTES / 2;
}

/** Detects counting up or down: one difference between adjacent bytes (modulo 256) makes up half of all differences. */
function isMostlyRegular(key: Buffer): boolean {
  const counts = new Map<number, number>();
  for (let index = 1; index < key.length; index += 1) {
    const step = (key.readUInt8(index) - key.readUInt8(index - 1)) & 0xff;
    counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  return Math.max(...counts.values()) >= KEY_BYTES / 2;
}

/** Detects a passphrase: all bytes except two are printable ASCII, white space or padding zeros. */
function isMostlyText(key: Buffer): boolean {
  const isText = (byte: number) => (byte >= 0x20 && byte <= 0x7e) || (byte >= 0x09 && byte <= 0x0d) || byte === 0;
  return key.filter(isText).length >= KEY_BYTES - 2;
}

/** Detects base64 that spells words. */
function readsAsPlaceholder(base64: string): boolean {
  return (
    base64.toUpperCase() === base64 ||
    base64.toLowerCase() === base64 ||
    /changeme|replace|example|password/i.test(base64)
  );
}
