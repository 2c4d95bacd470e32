import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { replaceAll, StreamingReplacement } from './answered-id.js';

const FROM = '"aab"';
/** Texts with many complete and partial occurrences of the id. */
const texts = fc
  .array(fc.constantFrom(FROM, '"', 'a', 'b', '"a', '"aa', 'ü'), { maxLength: 60 })
  .map((parts) => parts.join(''));
const replacements = fc.constantFrom('7', '"x"', '', '"aab"aab"');

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : (sizes[i % sizes.length] ?? 1);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

describe('replacing the id', () => {
  it('replaces every occurrence and nothing else', () => {
    fc.assert(
      fc.property(texts, replacements, (text, to) => {
        const replaced = replaceAll(Buffer.from(text), Buffer.from(FROM), Buffer.from(to));
        expect(replaced.toString()).toBe(text.replaceAll(FROM, () => to));
      }),
    );
  });

  it('gives the same result for a stream, however it is chunked', () => {
    fc.assert(
      fc.property(texts, replacements, fc.array(fc.integer({ min: 1, max: 9 })), (text, to, sizes) => {
        const bytes = Buffer.from(text);
        const replacement = new StreamingReplacement(Buffer.from(FROM), Buffer.from(to));
        const passed = cut(bytes, sizes).map((chunk) => replacement.push(chunk));
        const whole = Buffer.concat([...passed, replacement.flush()]);
        expect(whole).toEqual(Buffer.from(text.replaceAll(FROM, () => to)));
        expect(replacement.found).toBe(text.includes(FROM));
      }),
      { numRuns: 500 },
    );
  });

  it('holds back only what could begin the id, and passes on everything else without a copy', () => {
    const replacement = new StreamingReplacement(Buffer.from(FROM), Buffer.from('7'));
    const chunk = Buffer.from('x'.repeat(100));
    expect(replacement.push(chunk).buffer).toBe(chunk.buffer);
    expect(replacement.push(Buffer.from('"a"xx"aa')).toString()).toBe('"a"xx');
    expect(replacement.flush().toString()).toBe('"aa');
  });
});
