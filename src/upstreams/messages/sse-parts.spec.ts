import { describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { dataOf, endsEvent, type SsePart, sseParts, withData } from './sse-parts.js';

const NO_LIMIT = 1_000_000;

async function partsOf(text: string, sizes: readonly number[], limit: number): Promise<SsePart[]> {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : (sizes[i % sizes.length] ?? 1);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  const parts: SsePart[] = [];
  for await (const part of sseParts(Readable.from(chunks, { objectMode: false }), limit)) parts.push(part);
  return parts;
}

const textOf = (parts: readonly SsePart[]): string => Buffer.concat(parts.map(({ bytes }) => bytes)).toString();

const lines = fc.constantFrom('data: a', 'data:b', 'data: {"ü":1}', ': comment', 'event: message', 'id: 7', 'data');
/** Events with uniform line ends, and the beginning of a further event. */
const streams = fc
  .record({
    end: fc.constantFrom('\n', '\r\n'),
    events: fc.array(fc.array(lines, { minLength: 1, maxLength: 5 }), { maxLength: 8 }),
    unfinished: fc.array(lines, { maxLength: 3 }),
  })
  .map(({ end, events, unfinished }) => ({
    events: events.map((event) => event.map((line) => line + end).join('') + end),
    unfinished: unfinished.map((line) => line + end).join(''),
  }));
const cuts = fc.array(fc.integer({ min: 1, max: 30 }));

describe('sseParts', () => {
  it('finds the same events however the stream is chunked, and drops an incomplete event', async () => {
    await fc.assert(
      fc.asyncProperty(streams, cuts, async ({ events, unfinished }, sizes) => {
        const parts = await partsOf(events.join('') + unfinished, sizes, NO_LIMIT);
        expect(parts.map(({ bytes }) => bytes.toString())).toEqual(events);
        expect(parts.every(({ isWhole }) => isWhole)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['mixed line ends', 'data: a\r\rdata: b\n\rdata: c\r\n\ndata: d\n\r\n', ['a', 'b', 'c', 'd']],
    ['a byte order mark', '\ufeffdata: a\n\n', ['a']],
  ])('reads %s according to the specification', async (_title, text, expected) => {
    for (const sizes of [[], [1], [3]]) {
      const parts = await partsOf(text, sizes, NO_LIMIT);
      expect(parts.flatMap(({ bytes }) => dataOf(bytes) ?? [])).toEqual(expected);
    }
  });

  it('takes linear time', async () => {
    const events = 50_000;
    const hostile = '\r\r'.repeat(events) + 'a\n'.repeat(events);
    const startedAt = performance.now();
    expect(await partsOf(hostile, [], NO_LIMIT)).toHaveLength(events);
    // One search for each event would take minutes.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('yields large events in pieces, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(streams, cuts, fc.nat(40), async ({ events }, sizes, limit) => {
        const parts = await partsOf(events.join(''), sizes, limit);
        expect(textOf(parts)).toBe(events.join(''));
        const ends = parts.filter(({ bytes }) => endsEvent(bytes));
        expect(ends).toHaveLength(events.length);
        for (const { bytes } of parts.filter(({ isWhole }) => isWhole)) expect(events).toContain(bytes.toString());
      }),
      { numRuns: 300 },
    );
  });

  it('finds events with CR line ends', async () => {
    const parts = await partsOf('data: a\r\rdata: b\r\r', [1], NO_LIMIT);
    expect(parts.map(({ bytes }) => dataOf(bytes))).toEqual(['a', 'b']);
  });

  it('takes linear time in the bytes of an event, however small the chunks are', async () => {
    const piece = Buffer.alloc(1_000, 'x');
    // Copying the buffer with each chunk would copy 500 GB, and the test would not end.
    const body = Readable.from(
      Array.from({ length: 32_000 }, () => piece),
      { objectMode: false },
    );
    const parts: SsePart[] = [];
    for await (const part of sseParts(body, 31_000_000)) parts.push(part);
    expect(parts.map(({ isWhole }) => isWhole)).toEqual([false]);
  });
});

describe('withData', () => {
  it('replaces the data of an event and keeps the rest, with any number of data lines', () => {
    const texts = fc.array(fc.constantFrom('a', '{', '"b": 1', ' '), { minLength: 1 }).map((parts) => parts.join('\n'));
    fc.assert(
      fc.property(texts, (data) => {
        const event = withData(Buffer.from('id: 7\r\nevent: message\r\ndata: old\r\ndata: older\r\n\r\n'), data);
        expect(dataOf(event)).toBe(data);
        expect(event.toString()).toMatch(/^id: 7\nevent: message\n/);
        expect(endsEvent(event)).toBe(true);
      }),
    );
  });
});
