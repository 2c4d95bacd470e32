import { describe, expect, it } from '@jest/globals';
import { generateApiKey, hashApiKey, isStrongApiKey, isWellFormedApiKey } from './api-key-value.js';

describe('API key values', () => {
  it('generates well-formed, strong and different values', () => {
    const keys = Array.from({ length: 200 }, generateApiKey);
    expect(new Set(keys).size).toBe(200);
    for (const key of keys) {
      expect(key).toMatch(/^sbx_[0-9A-Za-z]{49}$/);
      expect(isWellFormedApiKey(key)).toBe(true);
      expect(isStrongApiKey(key)).toBe(true);
    }
  });

  it('refuses a value with any one character changed', () => {
    const key = generateApiKey();
    for (let i = 4; i < key.length; i++) {
      const other = key[i] === 'a' ? 'b' : 'a';
      expect(isWellFormedApiKey(key.slice(0, i) + other + key.slice(i + 1))).toBe(false);
    }
  });

  it.each(['', 'sbx_', 'sbx_short', `sbx_${'a'.repeat(49)}`, `Bearer ${generateApiKey()}`])('refuses %j', (value) => {
    expect(isWellFormedApiKey(value)).toBe(false);
  });

  it('calls a repeated character weak', () => {
    expect(isStrongApiKey(`sbx_${'a'.repeat(49)}`)).toBe(false);
  });

  it('hashes with SHA-256', () => {
    expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
