import { createSecretKey } from 'node:crypto';
import type { EncryptionKey } from '../config/encryption-keys.js';
import { type EnvelopeKey, keyIdOf, open, seal } from './envelope.js';

/** Seals the secrets that are stored: what leaves the process is encrypted and opens only in its own context. */
export class VaultService {
  private readonly keys: readonly EnvelopeKey[];
  private readonly current: EnvelopeKey;

  /** @param keys the ring: the first one encrypts, all decrypt */
  constructor(keys: readonly EncryptionKey[]) {
    this.keys = keys.map(({ id, key }) => ({ id, key: createSecretKey(key) }));
    const [first] = this.keys;
    if (first === undefined) throw new Error('The vault needs at least one encryption key.');
    this.current = first;
  }

  /** @param context what the value belongs to, such as `connection:<id>:headers` */
  seal(plaintext: string, context: string): string {
    return seal(this.current, plaintext, context);
  }

  /** @throws UnknownKeyError, TamperedEnvelopeError */
  open(envelope: string, context: string): string {
    return open(this.keys, envelope, context);
  }

  /** Is it sealed under the first key? If not (or if it is no envelope at all), rotation has work to do. */
  isCurrent(envelope: string): boolean {
    return keyIdOf(envelope) === this.current.id;
  }
}
