import { describe, expect, it } from '@jest/globals';
import { excessOf, MAX_VALUE_BYTES } from './answer-limits.js';
import { toModelOutput, toOutcome } from './tool-output.js';

const text = (length: number): { type: 'text'; text: string } => ({ type: 'text', text: 'x'.repeat(length) });

function cut(result: Parameters<typeof toOutcome>[0]): { content: { type: string; text: string }[] } {
  const outcome = toOutcome(result);
  if (!('output' in outcome)) throw new Error(outcome.errorText);
  expect(excessOf(outcome.output)).toBeUndefined();
  return outcome.output as { content: { type: string; text: string }[] };
}

describe('toOutcome', () => {
  it('keeps a result within the limits as it is', () => {
    const result = { content: [text(5)], structuredContent: { a: 1 }, _meta: { b: 2 } };
    expect(toOutcome(result)).toEqual({ output: result });
  });

  it('cuts a text that is too large, and says how much was left out', () => {
    const { content } = cut({ content: [text(10), text(2 * MAX_VALUE_BYTES), text(7)] });
    expect(content.map(({ text }) => text.length)).toEqual([10, MAX_VALUE_BYTES - 4106, expect.any(Number)]);
    expect(content.at(-1)?.text).toBe(`[${MAX_VALUE_BYTES + 4096 + 17} characters of this output were left out.]`);
  });

  it('leaves out images and structured content that are too large, and keeps the texts after them', () => {
    const image = { type: 'image' as const, data: 'A'.repeat(2 * MAX_VALUE_BYTES), mimeType: 'image/png' };
    const structuredContent = { rows: 'x'.repeat(100) };
    expect(cut({ content: [image, text(7)], structuredContent }).content).toEqual([
      text(7),
      { type: 'text', text: `[${JSON.stringify(image).length + 111} characters of this output were left out.]` },
    ]);
    const large = { content: [text(7)], structuredContent: { rows: 'x'.repeat(2 * MAX_VALUE_BYTES) } };
    expect(cut(large).content).toHaveLength(2);
  });

  it('bounds the number of blocks', () => {
    expect(cut({ content: Array.from({ length: 200_000 }, () => text(1)) }).content).toHaveLength(1001);
  });

  it('never ends in half a character', () => {
    expect(cut({ content: [text(1), { type: 'text', text: '😀'.repeat(MAX_VALUE_BYTES) }] }).content[1]?.text).toMatch(
      /^(?:😀)+\ufffd?$/u,
    );
  });

  it('refuses a result that is nested too deeply', () => {
    let deep: object = {};
    for (let level = 0; level < 200; level++) deep = { deep };
    const structuredContent = deep as Record<string, unknown>;
    expect(toOutcome({ content: [], structuredContent })).toEqual({
      errorText: "The tool's result is nested more than 100 deep.",
    });
  });
});

describe('toModelOutput', () => {
  it('gives the model the beginning of a long text, and says how much was left out', () => {
    expect(toModelOutput({ content: [text(100_000)] })).toEqual({ type: 'text', value: 'x'.repeat(100_000) });
    expect(toModelOutput({ content: [text(100_005)] })).toEqual({
      type: 'text',
      value: `${'x'.repeat(100_000)}\n[5 characters of this output were left out.]`,
    });
  });

  it('gives the model images and sounds as parts, and the texts around them within the limit', () => {
    const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };
    const blob = { type: 'resource', resource: { uri: 'a://b', blob: 'SUQz', mimeType: 'audio/mpeg' } };
    const link = { type: 'resource_link', uri: 'a://b', name: 'b' };
    const file = (mediaType: string, data: string): object => ({
      type: 'file',
      mediaType,
      data: { type: 'data', data },
    });
    expect(
      toModelOutput({ content: [text(5), image, link, blob, text(100_000)], structuredContent: { a: 1 } }),
    ).toEqual({
      type: 'content',
      value: [
        text(5),
        file('image/png', 'iVBORw0KGgo='),
        { type: 'text', text: JSON.stringify(link) },
        file('audio/mpeg', 'SUQz'),
        { type: 'text', text: expect.stringMatching(/^x+\n\[\d+ characters of this output were left out\.\]$/) },
      ],
    });
    // What a provider would refuse stays what it is.
    for (const part of [{ ...image, data: 'no base64!' }, { ...image, mimeType: 'text/html' }, { type: 'image' }]) {
      expect(toModelOutput({ content: [part] })).toEqual({ type: 'json', value: { content: [part] } });
    }
  });

  it('gives the model the beginning of other long outputs as text', () => {
    const output = { rows: ['x'.repeat(200_000)] };
    expect(toModelOutput(output)).toEqual({
      type: 'text',
      value: expect.stringMatching(/^\{"rows":\["x+\n\[100013 characters of this output were left out\.\]$/),
    });
    expect(toModelOutput({ rows: [1] })).toEqual({ type: 'json', value: { rows: [1] } });
  });
});
