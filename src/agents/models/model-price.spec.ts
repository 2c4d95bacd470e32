import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { countInputTokens } from './model-price.js';

const promptWith = (mediaType: string, data: Uint8Array | string): LanguageModelV4Prompt => [
  { role: 'user', content: [{ type: 'file', mediaType, data: { type: 'data', data } }] },
];

describe('countInputTokens', () => {
  it('counts the bytes of texts and definitions', () => {
    const none = countInputTokens({ prompt: [] });
    const text = countInputTokens({ prompt: [{ role: 'system', content: '語'.repeat(3_000) }] });
    expect(text).toBeGreaterThanOrEqual(3_000);
    const tools = [{ type: 'function' as const, name: 'echo', description: 'a'.repeat(3_000), inputSchema: {} }];
    expect(countInputTokens({ prompt: [], tools }) - none).toBeGreaterThanOrEqual(1_000);
    const responseFormat = { type: 'json' as const, schema: { description: 'a'.repeat(3_000) } };
    expect(countInputTokens({ prompt: [], responseFormat }) - none).toBeGreaterThanOrEqual(900);
  });

  it('counts an image as one of any size, and other files by their bytes', () => {
    const small = countInputTokens({ prompt: promptWith('image/png', new Uint8Array(10)) });
    expect(small).toBeGreaterThan(5_000);
    expect(countInputTokens({ prompt: promptWith('image/png', new Uint8Array(10_000_000)) })).toBe(small);
    const pdf = new Uint8Array(500_000);
    expect(countInputTokens({ prompt: promptWith('application/pdf', pdf) })).toBeGreaterThanOrEqual(100_000);
    const base64 = Buffer.from(pdf).toString('base64');
    expect(countInputTokens({ prompt: promptWith('application/pdf', base64) })).toBeLessThan(101_000);
  });
});
