import { describe, expect, it } from '@jest/globals';
import { LineEnds } from './line-ends.js';

/** The text that is made of these chunks. */
function unified(...chunks: string[]): string {
  const lineEnds = new LineEnds();
  return Buffer.concat(chunks.map((chunk) => lineEnds.unify(Buffer.from(chunk)))).toString();
}

describe('LineEnds', () => {
  it.each([
    ['LF', 'data: a\ndata: b\n\n'],
    ['CR LF', 'data: a\r\ndata: b\r\n\r\n'],
    ['CR', 'data: a\rdata: b\r\r'],
    ['all of them', 'data: a\rdata: b\n\r\n'],
  ])('ends lines with LF that end with %s', (_name, text) => {
    expect(unified(text)).toBe('data: a\ndata: b\n\n');
  });

  it('keeps the same lines wherever chunks begin', () => {
    const text = '\r\n\ré\r\n\r\n\n\r\r';
    const expected = '\n\né\n\n\n\n\n';
    expect(unified(text)).toBe(expected);
    expect(unified(...text)).toBe(expected);
    for (let at = 0; at <= text.length; at++) expect(unified(text.slice(0, at), text.slice(at))).toBe(expected);
  });

  it('changes no bytes of the chunk that it gets', () => {
    const chunk = Buffer.from('a\r\nb');
    new LineEnds().unify(chunk);
    expect(chunk.toString()).toBe('a\r\nb');
  });

  it('copies no chunk without a CR', () => {
    const chunk = Buffer.from('a\nb');
    expect(new LineEnds().unify(chunk)).toBe(chunk);
  });
});
