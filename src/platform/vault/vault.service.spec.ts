import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { UnknownKeyError } from './envelope.js';
import { VaultService } from './vault.service.js';

const oldKey = { id: 'old', key: randomBytes(32) };
const newKey = { id: 'new', key: randomBytes(32) };
const context = 'connection:42:headers';

describe('VaultService', () => {
  it('seals under the first key, opens under all, and detects envelopes of older keys', () => {
    const before = new VaultService([oldKey]);
    const during = new VaultService([newKey, oldKey]);
    const after = new VaultService([newKey]);

    const sealedBefore = before.seal('a secret', context);
    expect(during.isCurrent(sealedBefore)).toBe(false);
    const resealed = during.seal(during.open(sealedBefore, context), context);
    expect(during.isCurrent(resealed)).toBe(true);
    expect(after.open(resealed, context)).toBe('a secret');
    expect(() => after.open(sealedBefore, context)).toThrow(UnknownKeyError);
  });

  it('does not treat plain text as current', () => {
    expect(new VaultService([oldKey]).isCurrent('a plain text secret')).toBe(false);
  });

  it('requires a key', () => {
    expect(() => new VaultService([])).toThrow('at least one encryption key');
  });
});
