import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

/**
 * The form of our random credentials: a prefix that names the kind, 43 base62 characters of a CSPRNG (256 bits), and 6
 * of a CRC-32 checksum, which tells a typing error without a look-up.
 */
export class SecretForm {
  private readonly format: RegExp;

  readonly prefix: string;

  /** @param prefix such as `sbx_`; `credential-forms.ts` must match it */
  constructor(prefix: string) {
    this.prefix = prefix;
    this.format = new RegExp(`^${prefix}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);
  }

  generate(): string {
    const secret = Array.from({ length: SECRET_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    return this.prefix + secret + checksum(secret);
  }

  /** True if the text has this form, with a valid checksum. */
  matches(value: string): boolean {
    return this.format.test(value) && checksum(this.secretOf(value)) === value.slice(-CHECKSUM_LENGTH);
  }

  /** The random part of a value of this form. */
  secretOf(value: string): string {
    return value.slice(this.prefix.length, -CHECKSUM_LENGTH);
  }
}

/**
 * SHA-256 in hex, which is stored and looked up. Our secrets have 256 bits of entropy, so a slow hash would add
 * nothing.
 */
export function hashSecret(value: string): string {
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
