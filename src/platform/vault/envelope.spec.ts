import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { keyIdOf, open, seal, TamperedEnvelopeError, UnknownKeyError } from './envelope.js';

const key = { id: 'k1', key: randomBytes(32) };
const context = 'connection:42:headers';

const flipBit = (bytes: Buffer, bit: number) => {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return copy;
};

describe('envelope', () => {
  it('opens what it sealed', () => {
    const text = fc.string({ unit: 'binary', maxLength: 2000 });
    fc.assert(
      fc.property(text, text, (plaintext, anyContext) => {
        expect(open([key], seal(key, plaintext, anyContext), anyContext)).toBe(plaintext);
      }),
    );
  });

  it('opens an envelope of another implementation', () => {
    // Created with AESGCM of Python's cryptography 48. Key and IV are from test case 16 of McGrew and Viega's GCM
    // paper.
    const half = 'feffe9928665731c6d6a8f9467308308';
    const known = { id: 'k1', key: Buffer.from(half + half, 'hex') };
    const envelope = 'v1.k1.yv66vvrO263eyviI.8zGSpQj_EIcoHB4I5LLLkYc.IdLp9zMPi1ObjgjJY8H0XQ';
    expect(open([known], envelope, context)).toBe('x-api-key: naïve');
  });

  it('never creates the same envelope twice', () => {
    expect(new Set(Array.from({ length: 100 }, () => seal(key, 'same', context))).size).toBe(100);
  });

  it('rejects every flipped bit of IV, ciphertext and tag', () => {
    const parts = seal(key, 'a secret', context).split('.');
    for (const index of [2, 3, 4]) {
      const bytes = Buffer.from(parts[index] ?? '', 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const flipped = parts.with(index, flipBit(bytes, bit).toString('base64url')).join('.');
        expect(() => open([key], flipped, context)).toThrow(TamperedEnvelopeError);
      }
    }
  });

  it('rejects every changed, missing or added character', () => {
    // 8 bytes leave unused bits in the last base64url character, which a lenient decoder would ignore.
    const envelope = seal(key, 'a secret', context);
    const refused = expect.objectContaining({ name: expect.stringMatching(/^(TamperedEnvelope|UnknownKey)Error$/) });
    for (let index = 0; index < envelope.length; index += 1) {
      const [before, after] = [envelope.slice(0, index), envelope.slice(index + 1)];
      for (const other of ['A', 'B', '.', '=', ''].filter((character) => character !== envelope[index])) {
        expect(() => open([key], before + other + after, context)).toThrow(refused);
      }
      const next = String.fromCodePoint((envelope.codePointAt(index) ?? 0) + 1);
      expect(() => open([key], before + next + after, context)).toThrow(refused);
    }
    expect(() => open([key], `${envelope}\n`, context)).toThrow(refused);
  });

  it('rejects another context, including similar ones', () => {
    const envelope = seal(key, 'a secret', context);
    for (const other of ['', 'connection:43:headers', `${context} `, `k1.${context}`]) {
      expect(() => open([key], envelope, other)).toThrow(TamperedEnvelopeError);
    }
  });

  it('rejects another key under the same id, and the same key under another id', () => {
    const envelope = seal(key, 'a secret', context);
    expect(() => open([{ id: 'k1', key: randomBytes(32) }], envelope, context)).toThrow(TamperedEnvelopeError);
    const renamed = envelope.replace('.k1.', '.k2.');
    expect(() => open([{ id: 'k2', key: key.key }], renamed, context)).toThrow(TamperedEnvelopeError);
  });

  it('names a key id that is missing from the key ring', () => {
    expect(() => open([], seal(key, 'a secret', context), context)).toThrow(new UnknownKeyError('k1'));
  });

  it('throws only TamperedEnvelopeError for invalid input', () => {
    const part = fc.stringMatching(/^[A-Za-z0-9_-]{0,24}$/);
    const alike = fc.tuple(part, part, part).map((parts) => ['v1', 'k1', ...parts].join('.'));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), alike), (text) => {
        expect(() => open([key], text, context)).toThrow(TamperedEnvelopeError);
      }),
    );
  });

  it('rejects text that would not round-trip', () => {
    expect(() => seal(key, 'lone surrogate: \uD83D', context)).toThrow(RangeError);
    expect(() => seal(key, 'text', '\uDE00')).toThrow(RangeError);
  });

  it('reveals only its key id', () => {
    expect(keyIdOf(seal(key, 'a secret', context))).toBe('k1');
    expect(keyIdOf('k1')).toBeUndefined();
  });
});
