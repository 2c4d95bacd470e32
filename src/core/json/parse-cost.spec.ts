import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { MAX_PARSED_BYTES, MAX_PARSED_SIGNS as LIMIT, ParseCost } from './parse-cost.js';

function isTooHigh(text: string, { isStream = false, size = 64 * 1024 } = {}): boolean {
  const cost = new ParseCost(isStream);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) cost.add(bytes.subarray(at, at + size));
  return cost.isTooHigh;
}

describe('ParseCost', () => {
  it.each([
    ['objects', '{}'],
    ['arrays', '[]'],
    ['numbers', '1'],
    ['strings', '""'],
    ['strings with quotes', String.raw`"\"\\"`],
    ['keys', '{"a":1}'],
  ])('is too high for many %s', (_what, value) => {
    const many = (count: number): string => `[${`${value},`.repeat(count)}1]`;
    expect(isTooHigh(many(50_000))).toBe(false);
    expect(isTooHigh(many(LIMIT))).toBe(true);
  });

  it.each([
    ['depth', '['],
    ['empty lines', '\n'],
    ['lines that end in CR', '\r'],
    ['lines of data', 'data:\n'],
    ['lines inside an apparent string', '"\n'],
  ])('is too high for %s', (_what, piece) => {
    expect(isTooHigh(piece.repeat(LIMIT + 2))).toBe(true);
  });

  it('counts line ends that look escaped', () => {
    expect(isTooHigh(`"${'\\\n'.repeat(LIMIT + 2)}`)).toBe(true);
    expect(isTooHigh(`"${'\\\n'.repeat(LIMIT + 2)}`, { size: 3 })).toBe(true);
  });

  it('does not count signs in strings, for any chunk size', () => {
    const character = fc.constantFrom(...String.raw`,:[{"\ax`, 'é');
    fc.assert(
      fc.property(fc.array(character, { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), (characters, size) => {
        const cost = new ParseCost();
        const bytes = Buffer.from(JSON.stringify(characters.join('')));
        for (let at = 0; at < bytes.length; at += size) cost.add(bytes.subarray(at, at + size));
        cost.add(Buffer.alloc(LIMIT, ','));
        expect(cost.isTooHigh).toBe(false);
        cost.add(Buffer.from(','));
        expect(cost.isTooHigh).toBe(true);
      }),
    );
  });

  it.each(['x', '"', ' '])('is too high for many bytes of %s', (byte) => {
    expect(isTooHigh(byte.repeat(MAX_PARSED_BYTES))).toBe(false);
    expect(isTooHigh(byte.repeat(MAX_PARSED_BYTES + 1))).toBe(true);
  });

  it('is too high for deep nesting, but not for many brackets', () => {
    expect(isTooHigh('['.repeat(1_001) + ']'.repeat(1_001))).toBe(true);
    expect(isTooHigh(`[${'[[{}]],'.repeat(10_000)}1]`)).toBe(false);
  });

  it('counts the events of a stream separately, but not the paragraphs of a text', () => {
    const half = `data: [${'1,'.repeat(LIMIT / 2)}1]`;
    for (const end of ['\n\n', '\r\n\r\n']) {
      expect(isTooHigh(`${half}${end}`.repeat(4), { isStream: true })).toBe(false);
      expect(isTooHigh(`${half}${end}`.repeat(4))).toBe(true);
    }
  });
});
