import { describe, expect, it } from '@jest/globals';
import { excessOf, MAX_VALUE_BYTES, sizeOfChunk } from './answer-limits.js';

describe('sizeOfChunk', () => {
  it('counts a fixed overhead for each delta, so that many tiny deltas reach the limit', () => {
    expect(sizeOfChunk({ type: 'text-delta', id: 't', delta: '' })).toBeGreaterThan(30);
    expect(sizeOfChunk({ type: 'text-delta', id: 'i'.repeat(500), delta: 'x'.repeat(500) })).toBeGreaterThan(1000);
    expect(sizeOfChunk({ type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: 'xx' })).toBeGreaterThan(30);
  });
});

describe('excessOf', () => {
  it('limits depth and size', () => {
    expect(excessOf(JSON.parse('['.repeat(100) + ']'.repeat(100)))).toBeUndefined();
    expect(excessOf(JSON.parse('['.repeat(101) + ']'.repeat(101)))).toContain('100 deep');
    expect(excessOf(JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)))).toContain('100 deep');
    expect(excessOf({ a: 'x'.repeat(MAX_VALUE_BYTES) })).toContain('larger than');
    expect(excessOf(Array(300_000).fill(0))).toContain('larger than');
    expect(excessOf(undefined)).toBeUndefined();
  });
});
