import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { generateEncryptionKey, parseEncryptionKeys } from './encryption-keys.js';
import { ConfigError } from './env-reader.js';

/** 32 deterministic bytes that look random. */
const bytes = (seed: string) => createHash('sha256').update(seed).digest();
const good = bytes('a').toString('base64');
const other = bytes('b').toString('base64');
const base64 = (text: string) => Buffer.from(text).toString('base64');

function refusal(text: string): string {
  try {
    parseEncryptionKeys(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('The keys were accepted.');
}

describe('parseEncryptionKeys', () => {
  it('reads one or several keys in order', () => {
    expect(parseEncryptionKeys(`k1:${good}`)).toEqual([{ id: 'k1', key: bytes('a') }]);
    expect(parseEncryptionKeys(` new_2:${other}, old-1:${good}\n`).map(({ id }) => id)).toEqual(['new_2', 'old-1']);
  });

  it('reads a key from generateEncryptionKey', () => {
    const keys = Array.from({ length: 50 }, (_, n) => generateEncryptionKey(`k${n}`));
    expect(parseEncryptionKeys(keys.join(','))).toHaveLength(50);
    expect(() => generateEncryptionKey('not an id')).toThrow(RangeError);
  });

  it.each([
    ['nothing', ''],
    ['no id', good],
    ['an empty id', `:${good}`],
    ['a long id', `${'k'.repeat(33)}:${good}`],
    ['an id with a dot', `k.1:${good}`],
    ['an extra colon', `k1:${good}:`],
    ['an empty entry', `k1:${good},`],
    ['a duplicate id', `k1:${good},k1:${other}`],
    ['a duplicate key', `k1:${good},k2:${good}`],
    ['no key', 'k1:'],
    ['31 bytes', `k1:${bytes('a').subarray(1).toString('base64')}`],
    ['33 bytes', `k1:${Buffer.concat([bytes('a'), Buffer.of(7)]).toString('base64')}`],
    ['hex', `k1:${bytes('a').toString('hex')}`],
    ['no padding', `k1:${good.slice(0, -1)}`],
    ['a character that is not base64', `k1:!${good.slice(1)}`],
  ])('rejects %s', (_, text) => {
    expect(refusal(text)).toContain('ENCRYPTION_KEYS');
  });

  it.each([
    ['zeros', Buffer.alloc(32).toString('base64')],
    ['one repeated byte', Buffer.alloc(32, 0xa7).toString('base64')],
    ['a repeated word', Buffer.alloc(32, 'deadbeef', 'hex').toString('base64')],
    ['half a key twice', Buffer.concat([bytes('a').subarray(16), bytes('a').subarray(16)]).toString('base64')],
    ['counting up', Buffer.from(Array.from({ length: 32 }, (_, n) => n)).toString('base64')],
    ['counting down past zero', Buffer.from(Array.from({ length: 32 }, (_, n) => 260 - 3 * n)).toString('base64')],
    ['changeme…', base64('changeme-changeme-changeme-12345')],
    ['a passphrase', base64('The quick brown fox jumps, again')],
    ['a padded passphrase', base64('correct horse battery staple\0\0\0\0')],
    ['hex text', base64(bytes('a').toString('hex').slice(0, 32))],
    ['a base64 that spells something', 'MYVERYOWNENCRYPTIONKEYTHATNOBODYKNOWS123454='],
    ['a base64 with an example word', `example${good.slice(7)}`],
  ])('rejects a guessable key: %s', (_, key) => {
    expect(refusal(`k1:${key}`)).toBe(
      'ENCRYPTION_KEYS: entry 1 is a placeholder or not random (generate a key with: openssl rand -base64 32).',
    );
  });

  it('never reveals any part of a rejected value', () => {
    const chunk = fc.stringMatching(/^[A-Za-z0-9+/]{20,60}={0,2}$/);
    fc.assert(
      fc.property(fc.constantFrom('', 'k1:', `k1:${good},`, ':'), chunk, (prefix, secret) => {
        fc.pre(Buffer.from(secret, 'base64').length !== 32);
        expect(refusal(prefix + secret)).not.toContain(secret.slice(0, 20));
      }),
    );
  });
});
