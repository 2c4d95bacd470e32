import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { AnsweredId, replaceAll, StreamingReplacement } from './answered-id.js';

/** Feeds the text in chunks of `size` bytes. */
function watch(text: string, expected: string, size = text.length): { isAllowed: boolean; found: boolean } {
  const id = new AnsweredId(expected);
  const bytes = Buffer.from(text);
  let isAllowed = true;
  for (let at = 0; at < bytes.length && isAllowed; at += size) isAllowed = id.push(bytes.subarray(at, at + size));
  return { isAllowed, found: id.found };
}

/** Some parsers match keys case-insensitively. */
function withoutIds(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([key]) => key.toUpperCase().toLowerCase() !== 'id'));
}

const ids = fc.oneof(fc.integer(), fc.string({ unit: 'grapheme' }));

describe('AnsweredId', () => {
  it('finds the id of any answer, however its bytes are chunked', () => {
    const members = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(members, members, fc.jsonValue(), ids, fc.integer({ min: 1, max: 7 }), (...given) => {
        const [before, after, result, id, size] = given;
        const [first, last] = [withoutIds(before), withoutIds(after)];
        const text = JSON.stringify({ ...first, id, ...last, result: { result, id: 'inner' } });
        expect(watch(text, JSON.stringify(id), size)).toEqual({ isAllowed: true, found: true });
      }),
      { numRuns: 500 },
    );
  });

  it('rejects any other id, however its bytes are chunked', () => {
    fc.assert(
      fc.property(ids, ids, fc.jsonValue(), fc.integer({ min: 1, max: 7 }), (id, other, result, size) => {
        fc.pre(id !== other);
        for (const text of [JSON.stringify({ id: other, result }), JSON.stringify({ result, id: other }, null, 2)]) {
          expect(watch(text, JSON.stringify(id), size).isAllowed).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a second id', '{"id":1,"result":{},"id":2}'],
    ['a second id that is the same', '{"id":1,"result":{},"id":1}'],
    ['a second id of another case', '{"id":1,"result":{},"Id":2}'],
    ['an escaped key', String.raw`{"id":1,"result":{},"\u0069d":2}`],
    ['an id that is an object', '{"id":{"id":1},"result":{}}'],
    ['a batch', '[{"id":1,"result":{}}]'],
    ['a null id', '{"id":null,"error":{}}'],
    ['more members than a response has', `{"id":1,${'"x":{},'.repeat(200)}"result":{}}`],
    ['an endless id', `{"id":"${'1'.repeat(3_000)}"}`],
  ])('refuses %s', (_what, text) => {
    expect(watch(text, '1').isAllowed).toBe(false);
    expect(watch(text, '1', 1).isAllowed).toBe(false);
  });

  it('ignores nested values and the contents of strings', () => {
    const text = String.raw`{"result":{"id":7,"text":"\\\",\"id\":7,"},"a":["id",{"id":7}],"x":"\"id\":7"}`;
    expect(watch(text, '1', 3)).toEqual({ isAllowed: true, found: false });
  });
});

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
