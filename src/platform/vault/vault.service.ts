import { createSecretKey } from 'node:crypto';
import type { EncryptionKey } from '../../core/config/encryption-keys.js';
import { type EnvelopeKey, keyIdOf, open, seal } from './envelope.js';

/** Encrypts secrets for storage. A sealed value opens only in its own context. */
export class VaultService {
  private readonly keys: readonly EnvelopeKey[];
  private readonly current: EnvelopeKey;

  /** @param keys the key ring: the first key encrypts, all decrypt */
  constructor(keys: readonly EncryptionKey[]) {
    this.keys = keys.map(({ id, key }) => ({ id, key: createSecretKey(key) }));
    const [first] = this.keys;
    if (first === undefined) throw new Error('The vault needs at least one encryption key.');
    this.current = first;
  }

  /** @param context the owner of the value, such as `connection:<id>:headers` */
  seal(plaintext: string, context: string): string {
    return seal(this.current, plaintext, context);
  }

  /** @throws UnknownKeyError, TamperedEnvelopeError */
  open(envelope: string, context: string): string {
    return open(this.keys, envelope, context);
  }

  /** Whether the value is sealed under the first key. If not, rotation must re-encrypt it. */
  isCurrent(envelope: string): boolean {
    return keyIdOf(envelope) === this.current.id;
  }
}
