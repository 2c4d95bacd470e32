import { describe, expect, it } from '@jest/globals';
import { plainJson, plainText } from './plain-text.js';

describe('plainJson', () => {
  it.each([
    'a\0b',
    '\ud800',
    '\udfffa\udbff',
    '\\u0000',
    '\\\0',
    '\\\\ud800',
    '\u0001\u001f\n"\\',
    '😀 \ufffd \ud83d\ud83d\ude00',
  ])('is the JSON of the plain texts and names of %j', (text) => {
    const plain = plainText(text);
    expect(plainJson(JSON.stringify({ [text]: [text, { a: text }] }))).toBe(
      JSON.stringify({ [plain]: [plain, { a: plain }] }),
    );
  });
});
